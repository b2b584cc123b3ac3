/* Programs in user mode on an Armv8-A core: context_arm.h. */
#include "rig_armv8.h"

#define WORDS_OF_CONTEXT "cannot be read"
#include "context_arm.h"
