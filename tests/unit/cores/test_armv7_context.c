/* Programs in user mode on an Armv7 core: context_arm.h. */
#include "rig_armv7.h"

#include "context_arm.h"
