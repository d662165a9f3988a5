/** Kills of single processes and what befalls Kafka and the network, with the log in Postgres. */
import { testKillsOfRoles } from './roles-under-kills.js';

testKillsOfRoles('Postgres');
