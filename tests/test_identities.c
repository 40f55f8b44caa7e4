#include "suites.h"
Suite *identities_suite(void){ return suite_create("identities"); }
