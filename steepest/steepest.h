#pragma once

/// The whole library. `#include <steepest/steepest.h>`

#include "steepest/build/optimizer.h"
#include "steepest/linalg/newton_schulz.h"
#include "steepest/optimizers/rules.h"
#include "steepest/params/param_set.h"
#include "steepest/recipe/lr_scheduler_config.h"
#include "steepest/recipe/recipe.h"
#include "steepest/schedule/schedule.h"
#include "steepest/step/lr_scheduler.h"
