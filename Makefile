# What a developer and CI run. `make` lists the targets.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Modules are found, not listed, so that none is forgotten. tools/ only pins the tools below.
modules := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path './tools/*' -not -path '*/.*')))
without_docker := $(filter-out ./integration,$(modules))

bin := $(CURDIR)/.cache/bin

# $(call each,MODULES,COMMAND) runs the command in each module, up to the first failure.
each = for module in $(1); do echo "-- module $$module"; (cd $$module && $(2)) || exit 1; done

# with_redis puts a redis-server on PATH for the commands after it.
with_redis = dir=$$(scripts/get-redis) || exit 1; export PATH="$$dir:$$PATH";

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## Test every module that needs no Docker, against a real Redis, with the race detector
	@$(with_redis) $(call each,$(without_docker),go test -race -shuffle=on -timeout=10m ./...)
	@echo "-- a million keys, without the race detector"; \
		go test -run='^Test(Millions|Forgetting|KeysComeAndGo|DenialsOfMadeUpKeysAreBounded)$$' ./proxy ./proxy/memory

.PHONY: integration
integration: ## Test against Redis and Valkey in containers (needs a Docker engine)
	@scripts/integration

.PHONY: lint
lint: install-tools ## Check the format, and run go vet and staticcheck in every module
	@files=$$($(bin)/gofumpt -l .); test -z "$$files" || { echo "not formatted (make fmt):"; echo "$$files"; exit 1; }
	@$(call each,$(modules),go vet ./... && $(bin)/staticcheck ./...)

.PHONY: fmt
fmt: install-tools ## Format every Go file
	@$(bin)/gofumpt -w .

.PHONY: build
build: ## Build every module in the workspace and alone, and the root module for 32 bits
	@$(call each,$(modules),go build -o /dev/null ./... && GOWORK=off go vet ./... && GOWORK=off go build -o /dev/null ./...)
	@echo "-- module . for 386"; GOARCH=386 go vet ./... && GOARCH=386 go build -o /dev/null ./...

.PHONY: tidy-check
tidy-check: ## Check that every go.mod and go.sum is tidy
	@$(call each,$(modules) ./tools,GOWORK=off go mod tidy -diff)

.PHONY: fuzz-short
fuzz-short: ## Fuzz every fuzz target for a while (FUZZTIME=10s)
	@$(with_redis) scripts/fuzz $(or $(FUZZTIME),10s)

.PHONY: mutants
mutants: ## Plant bugs one by one and check that the tests find each
	@$(with_redis) go run ./internal/mutants

# Which third it is goes round with the commits.
.PHONY: mutants-short
mutants-short: ## Plant a third of the bugs
	@$(with_redis) go run ./internal/mutants -every=3 -from=$$(git rev-list --count HEAD)

.PHONY: traces
traces: ## Run long random traces against the model (OPS=500000)
	@$(with_redis) go test ./internal/trace -count=1 -v -timeout=0 -trace.ops=$(or $(OPS),500000)

.PHONY: histories
histories: ## Check random concurrent histories for linearizability (CALM=500 FAULTS=200 FAILOVERS=30)
	@$(with_redis) go test ./internal/histories -count=1 -v -timeout=0 \
		-histories.calm=$(or $(CALM),500) -histories.faults=$(or $(FAULTS),200) \
		-histories.failovers=$(or $(FAILOVERS),30)

.PHONY: faults
faults: ## Measure what callers see while Redis or the way to it is in trouble, and print it as tables
	@$(with_redis) go test ./internal/faults -count=1 -v -timeout=0 -faults.length=2s -faults.callers=200

.PHONY: bench
bench: ## Run the benchmarks of every module (BENCH=regexp)
	@$(with_redis) $(call each,$(without_docker),go test -run='^$$' -bench='$(or $(BENCH),.)' -benchmem ./...)

.PHONY: benchmarks
benchmarks: ## Measure Sluice beside other limiters for some ten minutes, and write docs/benchmarks.md
	@$(with_redis) go run ./benchmarks

.PHONY: proofs
proofs: ## Count what limiters make of inputs on which they are known to differ, and write it there
	@$(with_redis) go test ./benchmarks -run='^TestProofs$$' -count=1 -v -proofs.page=$(CURDIR)/docs/benchmarks.md

.PHONY: soak
soak: ## Keep the memory manager busy for minutes, and draw heap, keys and times (KEYS=1000000 LENGTH=5m)
	@go run ./benchmarks/soak -keys=$(or $(KEYS),1000000) -length=$(or $(LENGTH),5m)

.PHONY: ci
ci: ## All of the checks above that CI runs, integration where a Docker engine answers
	@scripts/ci

# As good as free when nothing has changed: Go's build cache knows.
.PHONY: install-tools
install-tools:
	@GOWORK=off GOBIN=$(bin) go -C tools install tool
