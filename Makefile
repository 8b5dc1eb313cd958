.PHONY: gen
gen: ## Generate gen/ from design/
	go run ./tools/goagen
