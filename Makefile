# toolsvc. On a fresh machine only Go is needed: `make demo` and `make test` install the rest (scripts/deps.sh).

GO ?= go
# Without symbol tables the program is a third smaller; the embedded Temporal makes it large.
LDFLAGS := -s -w
LANGUAGE ?= en

.PHONY: help demo demo-pipeline test build serve gen deps check race bench-validate bench-heal bench-heal-full test-mcp bench-mcp prop-workspace bench-workspace shots clean

help: ## What there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

demo: deps build ## Run the main job on a local page full of failures, narrated (make demo LANGUAGE=ko)
	@bin/toolsvc --lang $(LANGUAGE) demo

demo-pipeline: deps build ## The document pipeline with a scripted model that errs (make demo-pipeline BEHAVIOUR=over-edits LANGUAGE=ja)
	@$(GO) run ./examples/document-pipeline/demo -behaviour $(or $(BEHAVIOUR),corrects-itself) -lang $(LANGUAGE)

test: test-deps check ## Everything: formatting, vet, generated code, all tests; those with MCP clients from npm only after make mcp-deps
	$(GO) test -timeout 25m ./...
	@[ -e test/mcp/node_modules/.installed ] || echo "Skipped: the tests with MCP clients and servers from npm. make test-mcp installs those and runs them."

check: ## Formatting, go.mod, vet, and that gen/ is what the design says
	@unformatted=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$unformatted" ] || { echo "gofmt these files:"; echo "$$unformatted"; exit 1; }
	@GO=$(GO) scripts/tidy.sh
	$(GO) vet ./...
	@$(MAKE) --no-print-directory gen
	@git diff --exit-code --stat -- gen docs/reference/tools.md examples/orders/gen || { echo "What is generated is not what the design says: run make gen, and commit the result."; exit 1; }
	@untracked=$$(git ls-files --others --exclude-standard -- gen examples/orders/gen); [ -z "$$untracked" ] || { echo "Commit the generated files:"; echo "$$untracked"; exit 1; }

.PHONY: lint vuln
lint: ## staticcheck and errcheck (versions: tools/lint/go.mod), as in CI; minutes the first time, then what has changed
	@GO=$(GO) scripts/lint.sh

vuln: ## Known vulnerabilities in what we call (govulncheck): a finding fails; that its database cannot be reached is said, and does not
	@GO=$(GO) scripts/vuln.sh

race: deps ## The tests of our own packages under the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./tool/... ./planner/... ./verification/... ./narration/... ./store/... ./server/... ./executors/...

build: ## bin/toolsvc
	@mkdir -p bin
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/toolsvc ./cmd/toolsvc

serve: deps build ## All surfaces on loopback, with an embedded Temporal
	bin/toolsvc serve

.PHONY: topology
topology: test-deps build ## Several machines on this one: PostgreSQL, Temporal, two toolsvc, a proxy (docs/several-machines.md)
	$(GO) run ./deploy/topology/try -program bin/toolsvc

gen: ## Generate gen/ and docs/reference/tools.md from design/, and what the example generates from its own
	$(GO) run ./tools/goagen
	$(GO) run ./tools/docgen
	$(GO) generate ./examples/orders

.PHONY: mcp-deps
mcp-deps: # The npm packages of test/mcp; says so where npm cannot be reached, and the tests with them are skipped
	@scripts/mcp-deps.sh

deps: ## Install Chromium and tesseract where they are missing
	@scripts/deps.sh

.PHONY: test-deps
test-deps: # Those, and a PostgreSQL server for the tests of the store; without it they run with SQLite only, and say so
	@scripts/deps.sh test

bench-validate: ## Decode and validate payloads, beside encoding/json with Goa's validators and a JSON Schema engine
	$(GO) test ./toolset/codegen -run '^$$' -bench Validate

.PHONY: test-ocr
test-ocr: deps ## Find labels in pictures of every theme, size and scale; make test takes a sixth of them
	$(GO) test -timeout 25m -count 1 ./executors/browser/vision/ocr -run Recall -everything

test-mcp: deps mcp-deps build ## MCP with the official suite and real clients and servers, from npm
	TOOLSVC_BIN=$(CURDIR)/bin/toolsvc $(GO) test -timeout 25m -count 1 -v ./test/mcp

bench-mcp: deps mcp-deps build ## What an agent waits for over MCP, beside Playwright MCP and chrome-devtools-mcp (make bench-mcp N=50)
	$(GO) run ./bench/mcp -n $(or $(N),20)

bench-heal: deps ## Every failure page, and a few runs of the published scenarios, with and without healing (make bench-heal N=30)
	$(GO) run ./bench/heal -n $(or $(N),3)
	$(GO) run ./bench/scenarios -n $(or $(N),3)

bench-heal-full: deps ## All of it: every failure page 30 times, the scenarios 200 times; goes on where it was interrupted
	@mkdir -p bin
	$(GO) run ./bench/scenarios -n 200 -log bin/scenarios.jsonl
	$(GO) run ./bench/heal -n 30 -log bin/heal.jsonl

shots: deps build ## The pictures of the documentation: the live page, and a real run there and in Temporal's UI
	$(GO) run ./server/page/shots
	$(GO) run ./bench/story

prop-workspace: ## A thousand random sequences of file operations, failures and kills against the workspace's rollback
	$(GO) test ./executors/workspace -run TestProperty -sequences 1000 -v -timeout 60m

bench-workspace: ## Backups beside git stash and cp -a
	$(GO) run ./bench/workspace

chaos: deps ## Kill, cut and fill at random while toolsvc works, and check from outside (make chaos N=300 SEED=1 P=2; MACHINES=1 on several machines)
	$(GO) run ./bench/chaos -rounds $(or $(N),300) -seed $(or $(SEED),1) -parallel $(or $(P),2) $(if $(MACHINES),-machines)

bench-load: deps ## Throughput and latencies over concurrency, what a step costs; then thousands of runs on one server (make bench-load SOAK=3000)
	$(GO) run ./bench/load -svg docs/images/load.svg
	$(GO) run ./bench/load -soak $(or $(SOAK),3000)

clean: ## Remove what was built
	rm -rf bin
