{{- /* The instant of the decision, in microseconds, and the part of the current
       millisecond that is over on the server's clock: keys expire by whole
       milliseconds, so a time to live counts from the start of one. With a
       client's clock that part is unknown and taken at its greatest. */ -}}
{{define "clock" -}}
{{if .ClientClock -}}
local now, lead, begun = tonumber(ARGV[#ARGV - 1]), tonumber(ARGV[#ARGV]), 999
{{- else -}}
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local begun = now % 1000
{{- end}}
{{- end -}}
