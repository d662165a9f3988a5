/**
 * The exchange in production: one process with the roles that ROLES names, on the databases and chains of the settings.
 */
import { namedResources } from './resources.js';
import { runExchange } from './run.js';

void runExchange(namedResources, process.env);
