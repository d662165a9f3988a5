/** The naive stack, the peer of the order benchmark: Express as its guide shows it, ethers, one INSERT an order. Not a matcher. */
import { verifyTypedData } from 'ethers';
import express from 'express';
import pg from 'pg';
import type { AddressInfo } from 'node:net';
import { orderTypes } from '../../command/signing/typed-data.js';

const [url, domainText] = process.argv.slice(2);
const domain = JSON.parse(domainText!) as Record<string, unknown>;
const pool = new pg.Pool({ connectionString: url!, max: 10 });
await pool.query('create table if not exists naive_orders (id bigserial primary key, body jsonb not null, signature text not null)');

const app = express();
app.use(express.json());
app.post('/api/v1/orders', async (request, response) => {
  const { order, signature } = request.body as { order: Record<string, unknown>; signature: string };
  const signer = verifyTypedData(domain, { Order: [...orderTypes.Order] }, order, signature);
  if (signer.toLowerCase() !== order['trader']) {
    response.status(400).json({ error: 'bad signature' });
    return;
  }
  const { rows } = await pool.query('insert into naive_orders (body, signature) values ($1, $2) returning id', [order, signature]);
  response.json({ status: 'accepted', id: (rows[0] as { id: string }).id });
});
const server = app.listen(0, '127.0.0.1', () => { process.send!({ port: (server.address() as AddressInfo).port }); });
