/* Programs in user mode on an Armv8-A core: context_arm.h. */
#include "rig_armv8.h"

#include "context_arm.h"
