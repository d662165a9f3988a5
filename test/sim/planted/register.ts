/** Plants the bug whose number PLANTED gives: `node --import` this file. */
import { register } from 'node:module';

register('./hook.js', import.meta.url, { data: { number: Number(process.env['PLANTED']) } });
