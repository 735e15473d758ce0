# The few commands that people type. Everything else: CONTRIBUTING.md.
.PHONY: build test check ci docs release clean

build: ## the static binary ./credence
	CGO_ENABLED=0 go build ./cmd/credence

test: ## every test
	go test ./...

check: ## before each commit: format, vet, staticcheck, generated files, tests
	.ci/run check

ci: ## everything a change has to pass
	.ci/run

docs: build ## the documentation as HTML, in ./site
	go -C tools run ./site -root .. -program ../credence -out ../site

release: ## VERSION=0.1.0: everything that users download, in ./dist
	tools/release $(VERSION)

clean:
	rm -rf credence dist site credence-demo
