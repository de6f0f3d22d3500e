# Every target does its own set-up: missing Debian packages are installed, CMake runs when it must.
# `make help` lists the targets; JOBS=n sets how many compilers and tests run at once.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

JOBS ?= $(shell nproc)

ninja = ninja -C build/$(1) -j $(JOBS)
# Only CMake, and only if a CMake file or the list of sources changed.
refresh = ninja -C build/$(1) --quiet build.ninja
# One more than compilers: tests also wait for what they start and kill.
ctest = ctest --test-dir build/$(1) --output-on-failure --no-tests=error -j $$(($(JOBS) + 1))
cpp_files = find src tests bench examples -name '*.h' -o -name '*.cc'

# What the sanitizers look at. A test is named like its program, so these select both. Left out: what would have the
# converters built (they have a target of their own) or the command line, for one test each.
asan_tests = -L '^(unit|conformance)$$' -E '^(worker|app|web_page_fuzz)_test$$'
tsan_tests = -L '^unit$$' -R '^(store|queue|net)_test$$'
race_tests = -L '^conformance$$'

export UBSAN_OPTIONS := print_stacktrace=1:halt_on_error=1
export ASAN_OPTIONS := detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
export TSAN_OPTIONS := halt_on_error=1:second_deadlock_stack=1
# g++ 12's ThreadSanitizer cannot start where the kernel scatters addresses more widely than it expects.
no_aslr = $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: screenshots build test sanitize sanitize-asan sanitize-worker sanitize-tsan sanitize-races lint demo demo-work demo-crawl demo-dataset demo-research bench bench-smoke corpus sweep soak format clean help setup

build: build/release/build.ninja  ## (default) build everything, release
	$(call ninja,release)

test: build  ## build once, run every suite
	$(call ctest,release)

sanitize: sanitize-asan sanitize-tsan  ## unit suites, and conformance on SQLite, under ASan+UBSan; store, queue, net under TSan

sanitize-asan: build/asan/build.ninja
	$(call refresh,asan)
	scripts/test_targets build/asan $(asan_tests) | xargs -r $(call ninja,asan)
	GTEST_FILTER='-*/Postgres' $(call ctest,asan) $(asan_tests)

# By itself, since converters take as long to build as all the rest. A box limits the memory that a process may map, of
# which the sanitizer needs terabytes: what runs in a box is left out. The steps are run in the test's own process.
sanitize-worker: build/asan/build.ninja  ## the converters under ASan+UBSan
	$(call refresh,asan)
	$(call ninja,asan) worker_test web_page_fuzz_test
	$(call ctest,asan) -R '^web_page_fuzz_test$$'
	build/asan/bin/worker_test --gtest_brief=1 \
	  --gtest_filter='-BoxTest.*:BrokerTest.*:*ProgramTest.*:OfficeTest.*:*CorpusTest.*'

sanitize-tsan: build/tsan/build.ninja
	$(call refresh,tsan)
	scripts/test_targets build/tsan $(tsan_tests) | xargs -r $(call ninja,tsan)
	$(no_aslr) $(call ctest,tsan) $(tsan_tests)

sanitize-races: build/tsan/build.ninja  ## the conformance suites under TSan, both stores: for changes of engine, writer and loop
	$(call refresh,tsan)
	scripts/test_targets build/tsan $(race_tests) | xargs -r $(call ninja,tsan)
	$(no_aslr) $(call ctest,tsan) $(race_tests)

lint: build/release/build.ninja  ## every check of scripts/lint, with a self-test of the checks
	$(call refresh,release)
	scripts/lint/run

demo: build  ## a guided run of the real program: a leak becomes documents, clips are found in a podcast, killed on the way
	scripts/demo
	scripts/demo_research
	@echo; echo "More of it: make demo-crawl, make demo-dataset, make demo-work."

demo-work: build  ## another one: your own work, through gates, killed on the way
	scripts/demo_resumes

demo-crawl: build  ## a third one: a site becomes an archive and a search
	scripts/demo_crawl

demo-dataset: build  ## a fourth one: datasets are kept, killed on the way, and become a bag
	scripts/demo_dataset

demo-research: build  ## the second half of make demo alone: a podcast, its clips, and where they were played
	scripts/demo_research

screenshots: build  ## a picture of every page of the web UI, light and dark, desk and phone, in build/screenshots
	scripts/web screenshots build/release/bin build/screenshots

bench: build  ## every benchmark, at full length
	scripts/bench build/release/bin

bench-smoke: build  ## every benchmark for an instant: that it runs, not how fast (a part of make test)
	$(call ctest,release) -L '^bench$$'

corpus: build  ## every input of QUERN_CORPUS, compared with its index
	scripts/corpus build/release/bin --verbose

sweep: build  ## the crash suites at every instant, not only at some of each slow sweep as in make test
	QUERN_SWEEP=all $(call ctest,release) -L '^crash$$'

soak: build  ## an hour of polling by an idle worker, and what else takes long (SOAK_MINUTES=60)
	QUERN_SOAK_MINUTES=$${SOAK_MINUTES:-60} build/release/bin/worker_protocol_test \
	  --gtest_filter='*Wire01_AnIdle*/Sqlite:*Wire17*/Sqlite'

format: setup  ## lay out all C++ with clang-format
	$(cpp_files) | xargs clang-format-16 -i

clean:  ## remove everything built
	rm -rf build

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*  ## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup:
	@scripts/setup

# Ninja runs CMake again by itself when a CMake file changed; only the first time is ours.
build/%/build.ninja: CMakePresets.json | setup
	cmake --preset $*
	@touch $@
