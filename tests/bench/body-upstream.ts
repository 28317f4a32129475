/** An upstream that reads a body of any size to its end and answers the fixed answer. */
import { answerBody } from './fixtures.ts'

const headers = { 'content-type': 'application/json' }

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  idleTimeout: 255,
  async fetch(request) {
    const reader = request.body?.getReader()
    while (reader && !(await reader.read()).done);
    return new Response(answerBody, { headers })
  },
})
console.log('ready')
