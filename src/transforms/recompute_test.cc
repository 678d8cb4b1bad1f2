#include "transforms/recompute.h"
