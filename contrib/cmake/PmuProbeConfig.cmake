# SPDX-License-Identifier: MIT
# What find_package(PmuProbe) reads
include(${CMAKE_CURRENT_LIST_DIR}/PmuProbe.cmake)
