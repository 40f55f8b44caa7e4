#include "suites.h"
Suite *twice_suite(void){ return suite_create("twice"); }
