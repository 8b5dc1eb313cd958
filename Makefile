.PHONY: gen
gen: ## Generate gen/ from design/
	go run ./tools/goagen

.PHONY: bench-validate
bench-validate: ## Measure decoding and validation beside encoding/json with Goa's validators, and a JSON Schema engine
	go test ./toolset/codegen -run '^$$' -bench Validate
