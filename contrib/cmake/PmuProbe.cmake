# SPDX-License-Identifier: MIT
# A measured region as a CTest test:
#
#   find_package(PmuProbe REQUIRED NO_CMAKE_FIND_ROOT_PATH)
#   pmu_probe_test(NAME fir ELF app REGION fir_filter BASELINE ${CMAKE_SOURCE_DIR}/fir.jsonl THRESHOLD 2%)
#
# ELF: a file, or a target of this project. REGION: a function, or START END. PROBE: as --probe takes it; without it
# pmu-probe chooses. Without BASELINE the test only measures. ARGS: further options of `pmu-probe delta`. Files are
# relative to the source folder.
# Passed: not slower. Failed: regressed, not comparable, or not measured. Skipped: inconclusive.
option(PMU_PROBE_UPDATE "pmu_probe_test() writes the baselines and compares nothing" OFF)

function(pmu_probe_test)
  cmake_parse_arguments(PARSE_ARGV 0 P "" "NAME;ELF;PROBE;BASELINE;THRESHOLD" "REGION;ARGS")
  list(LENGTH P_REGION places)
  if(P_UNPARSED_ARGUMENTS OR P_KEYWORDS_MISSING_VALUES OR NOT P_NAME OR NOT P_ELF OR NOT places MATCHES "^[12]$")
    message(FATAL_ERROR "pmu_probe_test(${ARGV}) is not understood: it takes NAME, ELF, REGION (one place or two), "
            "PROBE, BASELINE, THRESHOLD and ARGS")
  endif()
  find_program(PMU_PROBE pmu-probe REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  if(TARGET ${P_ELF})
    set(P_ELF $<TARGET_FILE:${P_ELF}>)
  elseif(NOT P_ELF MATCHES "^\\$<")
    get_filename_component(P_ELF ${P_ELF} ABSOLUTE)
  endif()
  if(P_BASELINE)
    get_filename_component(P_BASELINE ${P_BASELINE} ABSOLUTE)
  endif()
  set(options --elf ${P_ELF} ${P_ARGS})
  if(P_PROBE)
    list(APPEND options --probe ${P_PROBE})
  endif()
  if(P_BASELINE AND PMU_PROBE_UPDATE)
    get_filename_component(folder ${P_BASELINE} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    list(APPEND options -j -o ${P_BASELINE})
  elseif(P_BASELINE)
    list(APPEND options --baseline ${P_BASELINE})
    if(P_THRESHOLD)
      list(APPEND options --threshold ${P_THRESHOLD})
    endif()
  endif()
  add_test(NAME ${P_NAME} COMMAND ${PMU_PROBE} delta ${P_REGION} ${options})
  # A probe serves one at a time; tests of different probes run side by side. One that names none may have any: it runs alone
  if(P_PROBE)
    set_tests_properties(${P_NAME} PROPERTIES RESOURCE_LOCK "pmu-probe ${P_PROBE}")
  else()
    set_tests_properties(${P_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
  # SIGTERM lets it put the target back: CMake 3.27 and later; before, CTest kills it
  set_tests_properties(${P_NAME} PROPERTIES SKIP_RETURN_CODE 4 LABELS pmu-probe TIMEOUT_SIGNAL_NAME SIGTERM
                       TIMEOUT_SIGNAL_GRACE_PERIOD 20)
endfunction()
