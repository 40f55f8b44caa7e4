#include "suites.h"
Suite *effects_suite(void){ return suite_create("effects"); }
