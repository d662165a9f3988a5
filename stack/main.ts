/**
 * `npm start`: one process with the roles that ROLES names. With an empty environment: all roles, on an embedded Postgres and a development
 * chain.
 */
import { runExchange } from '../service/run.js';
import { stackResources } from './resources.js';

void runExchange(stackResources, process.env);
