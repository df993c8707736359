{{- /* The instant of the decision, in microseconds. */ -}}
{{define "clock" -}}
{{if .ClientClock -}}
local now, lead = tonumber(ARGV[#ARGV - 1]), tonumber(ARGV[#ARGV])
{{- else -}}
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
{{- end}}
{{- end -}}
{{- /* How a key expires: at an instant of the server's clock, or so much later than
       it is there, where the instant is a client's. It is handed over as a number:
       servers write a whole one below 2^53 with all its digits in a command, as
       tostring would not. */ -}}
{{define "expire"}}{{if .ClientClock}}PX{{else}}PXAT{{end}}{{end -}}
{{- /* What the end of a life counts from, in microseconds. Servers expire by whole
       milliseconds. How much of the current one is over on a server whose clock is
       not asked is unknown and taken at its greatest. */ -}}
{{define "from"}}{{if .ClientClock}}999{{else}}now{{end}}{{end -}}
