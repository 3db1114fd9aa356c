# SPDX-License-Identifier: BSD-3-Clause
# The short front: everything is in CMakeLists.txt and tools/, this names it.
#
#   make            the program, build/tenon, and the library
#   make demo       the whole way on data/demo, ends with one sentence
#   make demo-pictures   the whole way from pictures that it draws, through networks where ONNX Runtime is to be had
#   make test       every test that needs a few minutes; make test-all adds clang, sanitizers, valgrind, fuzzing
#   make torture    MINUTES=1 of kills, full disks, failing calls and changing files; finds nothing, or tells how to repeat it
#   make python     the Python package, into build/venv
#   make bench      the benchmarks      make docs      manual, completions and docs/cli.md from the option tables
#   make install    PREFIX=/usr/local, DESTDIR= honoured; make uninstall removes it
#   make format     clang-format over our C files
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CONFIGURE = cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
# The inner make has its own number of jobs: without these it would warn about the outer one's.
COMPILE = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build $(BUILD) -j $(JOBS)

all:
	@tools/install_deps.sh build
	@$(CONFIGURE) >/dev/null
	@$(COMPILE) --target tenon tenon_program

demo: all
	@tools/demo.sh $(BUILD)/tenon $(BUILD)/demo

demo-pictures: all
	@tools/demo_pictures.sh $(BUILD)/tenon $(BUILD)/demo-pictures

test:
	@tools/install_deps.sh test
	@$(CONFIGURE) -DTENON_TESTS=ON >/dev/null
	@$(COMPILE)
	@tools/run_tests.sh $(BUILD) -j $(JOBS)

test-all:
	@tools/install_deps.sh full
	@$(MAKE) --no-print-directory test
	@tools/test_all.sh

MINUTES ?= 1
torture: all
	@tools/install_deps.sh test
	@tests/torture/run $(BUILD)/tenon --minutes $(MINUTES) --jobs $(JOBS)

bench: all
	@tools/install_deps.sh bench
	@bench/run $(BUILD)/tenon

python:
	@tools/install_deps.sh build
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tools/make_python.sh $(BUILD)

docs: all
	@tools/make_docs.sh $(BUILD)/tenon

install: all
	@cmake --install $(BUILD) && mv $(BUILD)/install_manifest.txt $(BUILD)/installed.txt

# By a list of its own: tests install elsewhere and write the common one.
uninstall:
	@DESTDIR=$(DESTDIR) tools/uninstall.sh $(BUILD)/installed.txt && rm $(BUILD)/installed.txt

format:
	@tools/check_format.sh --fix

clean:
	@rm -rf $(BUILD) build-*

.PHONY: all demo demo-pictures test test-all torture bench python docs install uninstall format clean
