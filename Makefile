# SPDX-License-Identifier: MIT
# The front door. CMake and the scripts do the work; `make help` lists what there is.

PREFIX ?= /usr/local
DESTDIR ?=
# How many jobs at once; empty means: as many as there are processors.
JOBS ?=
# Further words for ctest (make test), for the benchmark (make bench) and for the demo (make demo).
ARGS ?=

# make t: which tests (the beginning of folder/name), and in which build.
T ?=
P ?= release

export JOBS DESTDIR

.PHONY: all help t quick test demo bench bench-report check check-deep asan tsan clang debug install uninstall format lint hooks amalgamation docs dist deb clean

all: ## build the library and the command, the release way, into build/release
	@scripts/setup build
	@scripts/setup --optional cli
	@TARGETS=library-and-command scripts/build release

help: ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "make %-22s  %s\n", $$1, $$2 }' Makefile

t: ## build and run one test: make t T=pool/p07 (P=asan: in another build)
	@scripts/t $(P) $(T) $(ARGS)

quick: ## the core tests and the lint, in less than two minutes
	@scripts/quick $(ARGS)

test: ## everything that must hold on each change (installs what is missing, where it may)
	@scripts/test $(ARGS)

demo: ## a small game server, and what it looks like from outside (ARGS="--inject hog" breaks it)
	@scripts/demo $(ARGS)

bench: ## measure against the peers that are installed (scripts/setup bench installs them)
	@scripts/setup build
	@scripts/build release
	@build/release/bench/vigil-bench $(ARGS)

bench-report: ## measure, and write a page with plots into build/bench-report; without ARGS also the table of docs/figures.md
	@scripts/setup bench
	@scripts/build release
	@scripts/bench-report $(if $(ARGS),,--figures) -- $(ARGS)

check: ## explore the interleavings of the real sources (minutes)
	@scripts/setup check
	@scripts/build release
	@check/run --build build/release/check $(ARGS)

check-deep: ## the same at larger bounds, for as long as it takes
	@scripts/setup check
	@scripts/build release
	@check/run --build build/release/check --deep $(ARGS)

debug asan tsan clang: ## build and test one preset alone
	@scripts/setup test
	@scripts/build $@
	@scripts/tests build/$@ $(ARGS)

install: ## the library and the command, into PREFIX (default /usr/local), below DESTDIR if that is set
	@scripts/setup build
	@scripts/setup --optional cli
	@TARGETS=installed scripts/build release
	@cmake --install build/release --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

uninstall: ## remove what `make install` with the same PREFIX and DESTDIR put there
	@scripts/setup build
	@TARGETS=installed scripts/build release
	@scripts/uninstall "$(PREFIX)"

format: ## lay out all sources as .clang-format says
	@scripts/setup test
	@find include src jobs http tls dns js tests bench examples check cli docs -name node_modules -prune -o \( -name '*.[ch]' -o -name '*.cpp' \) -print | xargs clang-format -i

lint: ## format, the project's own rules, clang-tidy
	@scripts/setup test
	@scripts/build release
	@scripts/lint

hooks: ## look at layout and rules before each commit (scripts/hooks/pre-commit)
	@git config core.hooksPath scripts/hooks
	@echo "hooks: each commit is looked at from now on; git config --unset core.hooksPath ends that"

amalgamation: ## the library as one file to compile: vigil.c, vigil.h and vigil.hpp, into build/amalgamation
	@scripts/amalgamate

docs: ## man pages and the static site, into build/docs
	@scripts/setup docs
	@scripts/docs

dist: ## a tarball of the committed sources
	@scripts/dist

deb: ## Debian packages into dist/, tried in a clean system
	@scripts/setup deb
	@scripts/deb

clean: ## remove everything that was built
	@rm -rf build dist
