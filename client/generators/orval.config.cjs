/** Orval waits for the whole of an answer, which a stream does not have. */
module.exports = {
  exchange: {
    input: { target: './openapi.json', filters: { mode: 'exclude', tags: ['Streams'] } },
    output: { target: './generated/orval.ts', client: 'fetch', mode: 'single', baseUrl: { getBaseUrlFromSpecification: true } },
  },
};
