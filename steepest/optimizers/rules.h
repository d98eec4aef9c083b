#pragma once

#include "steepest/optimizers/adam.h"
#include "steepest/optimizers/lion.h"
#include "steepest/optimizers/muon.h"
#include "steepest/optimizers/sgd.h"
