# Targets a person and CI both use. `make help` prints this file's own words.
SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -c
GO         ?= go
BIN        := bin
TOOLS      := $(BIN)/tools
GOLANGCI   := $(TOOLS)/golangci-lint
GOFUMPT    := $(TOOLS)/gofumpt
GOLANGCI_VERSION := v2.15.0
GOFUMPT_VERSION  := v0.12.0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)

# What `make up` serves and where it keeps its data.
LISTEN      ?= 127.0.0.1:7777
NATS_LISTEN ?= 127.0.0.1:4222
DATA        ?= data
FUZZTIME    ?= 20s
BENCHCOUNT  ?= 3

CORE = $(shell $(GO) list ./pkg/... 2>/dev/null | grep -v /pkg/agent)

.DEFAULT_GOAL := help

.PHONY: help
help: ## print this
	@awk -F ':.*## ' '/^[a-z][a-zA-Z0-9_-]*:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: up
up: build ## build and run everything on an embedded NATS (LISTEN, NATS_LISTEN, DATA)
	$(BIN)/steno up --data $(DATA) --listen $(LISTEN) --nats-listen $(NATS_LISTEN)

.PHONY: build
build: ## build bin/steno, bin/recorder, bin/projector, bin/gateway
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/steno ./cmd/recorder ./cmd/projector ./cmd/gateway

.PHONY: test
test: ## all tests, under the race detector where there are goroutines
	$(GO) vet ./...
	$(GO) test $(CORE)
	$(GO) test -race $$($(GO) list ./... | grep -vxF "$$(printf '%s\n' $(CORE))")

.PHONY: race
race: ## all tests under the race detector, the core too
	$(GO) test -race ./...

.PHONY: lint
lint: $(GOLANGCI) ## golangci-lint, for this machine and for the core under js/wasm
	$(GOLANGCI) run ./...
	GOOS=js GOARCH=wasm $(GO) vet $(CORE)

.PHONY: fmt
fmt: $(GOFUMPT) ## format the code
	$(GOFUMPT) -w cmd internal pkg web

.PHONY: bench
bench: ## benchmarks (median of BENCHCOUNT runs) beside their targets
	$(GO) test -p 1 -run '^$$' -bench . -benchmem -count $(BENCHCOUNT) -timeout 60m ./pkg/... ./internal/... | $(GO) run ./scripts/benchtable scripts/targets.tsv

.PHONY: bench-quick
bench-quick: ## the same of the core, a tenth of a second each
	$(GO) test -p 1 -run '^$$' -bench . -benchmem -benchtime 100ms $(CORE) | $(GO) run ./scripts/benchtable scripts/targets.tsv

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (20s)
	./scripts/fuzz.sh $(FUZZTIME)

.PHONY: golden
golden: ## rewrite the golden files; read the difference before you commit it
	$(GO) test $$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"' . | xargs -n1 dirname | sort -u) -update

.PHONY: verify
verify: ## what CI does: tests, lint, quick bench
	./.ci/run

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)

$(GOLANGCI):
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GOFUMPT):
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
