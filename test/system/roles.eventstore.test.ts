/** Kills of single processes and what befalls Kafka, the network and the EventStoreDB, with the log in EventStoreDB. */
import { testKillsOfRoles } from './roles-under-kills.js';

testKillsOfRoles('EventStoreDB');
