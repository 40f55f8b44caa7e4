#include "suites.h"
Suite *parameters_suite(void){ return suite_create("parameters"); }
