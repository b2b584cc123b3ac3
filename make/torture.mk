# Trouble between the tool and the other end of its link, and kill -9 (tests/system/test_torture.py, test_killed.py), much more of
# it than in `make check`: `make torture N=10000 SEED=7`. `make torture SEED=7 CASE='m4/swd 17'` repeats one case.

N ?= 10000
TORTURED = $(if $(CASE),tests/system/test_torture.py::test_trouble,-n $(WORKERS) \
             tests/system/test_torture.py::test_trouble tests/system/test_killed.py::test_killed)

torture: TEST_LIMIT := 14400
torture: deps
	$(MAKE) -s -j$(shell nproc) check-build
	$(if $(SEED),PMU_SEED=$(SEED)) TORTURE=$(N) TORTURE_CASE='$(CASE)' $(PYTEST) $(TORTURED)
.PHONY: torture
