/** Clients that others wrote: what they send is what the gateway will meet. */
import { afterAll, expect, test } from 'bun:test'
import { Agent, request as nodeRequest } from 'node:http'
import { readBody } from '../../core/request.ts'
import { closeRigs, echo, serverRig, text } from '../../../tests/support/network/http-server-rig.ts'

afterAll(closeRigs)

const rig = serverRig(async request => {
  const { target } = request.headers
  if (target === '/early') return text('you sent too much', 413)
  if (target === '/stream')
    return {
      status: 200,
      headers: {},
      body: new ReadableStream<Uint8Array>({
        async start(controller) {
          for (let i = 0; i < 10; i++) {
            controller.enqueue(Buffer.from(`${i};`))
            await Bun.sleep(1)
          }
          controller.close()
        },
      }),
    }
  if (target === '/large') return text('z'.repeat(20_000_000))
  if (target === '/length') return text(String((await readBody(request.body, 1e8)).length))
  if (target.startsWith('/slow')) await Bun.sleep(Number(target.slice(5)) % 7)
  return echo(request)
})
const url = rig.server.url

interface NodeAnswer {
  status: number
  body: string
}

function nodeAsk(
  agent: Agent,
  path: string,
  body?: Buffer | string,
  headers: Record<string, string> = {},
): Promise<NodeAnswer> {
  return new Promise((resolve, reject) => {
    const request = nodeRequest(
      `${url}${path}`,
      { agent, method: body === undefined ? 'GET' : 'POST', headers },
      response => {
        const pieces: Buffer[] = []
        response.on('data', (piece: Buffer) => pieces.push(piece))
        response.on('end', () => resolve({ status: response.statusCode!, body: Buffer.concat(pieces).toString() }))
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

const expected = (path: string, body: string): string => `POST /${path} [${body}]`

test('1,000 requests over 50 connections of node:http: every answer is its request\u2019s', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  const before = rig.requests.length
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => nodeAsk(agent, `slow${i}`, `body ${i} ${'x'.repeat(i * 7)}`)),
  )
  for (const [i, answer] of answers.entries())
    expect(answer.body).toBe(expected(`slow${i}`, `body ${i} ${'x'.repeat(i * 7)}`))
  expect(rig.requests.length - before).toBe(1000)
  expect(rig.server.connections).toBeLessThanOrEqual(50)
  agent.destroy()
})

test('node:http: chunked bodies, streams, large answers', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let i = 0; i < 3; i++) {
    expect((await nodeAsk(agent, 'a', 'hello', { 'transfer-encoding': 'chunked' })).body).toBe(expected('a', 'hello'))
    expect((await nodeAsk(agent, 'stream')).body).toBe('0;1;2;3;4;5;6;7;8;9;')
    expect((await nodeAsk(agent, 'large')).body.length).toBe(20_000_000)
    expect((await nodeAsk(agent, 'length', Buffer.alloc(20_000_000))).body).toBe('20000000')
  }
  agent.destroy()
})

test('Bun\u2019s fetch: keep-alive, streams, 20 MB there and back', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      fetch(`${url}slow${i}`, { method: 'POST', body: `b${i}` }).then(answer => answer.text()),
    ),
  )
  for (const [i, answer] of answers.entries()) expect(answer).toBe(expected(`slow${i}`, `b${i}`))
  expect(await (await fetch(`${url}stream`)).text()).toBe('0;1;2;3;4;5;6;7;8;9;')
  expect((await (await fetch(`${url}large`)).text()).length).toBe(20_000_000)
  expect(await (await fetch(`${url}length`, { method: 'POST', body: Buffer.alloc(20_000_000) })).text()).toBe(
    '20000000',
  )
})

/** Runs a program to its end. */
async function run(command: string[], input?: Uint8Array): Promise<string> {
  const child = Bun.spawn(command, { stdin: input ?? 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return code === 0 ? output : `exit ${code}: ${output} ${errors}`
}

const node = Bun.which('node')
if (!node) console.log('skipped: clients of Node (no node here)')

test.skipIf(!node)(
  'Node: fetch and http, 1,000 requests over 50 connections, and 20 MB to a handler that does not read',
  async () => {
    const script = `
    const http = require('node:http')
    const url = ${JSON.stringify(url)}
    const agent = new http.Agent({ keepAlive: true, maxSockets: 50 })
    const ask = (path, body, headers = {}) => new Promise((resolve, reject) => {
      const request = http.request(url + path, { agent, method: 'POST', headers }, response => {
        let text = ''
        response.on('data', piece => (text += piece)).on('end', () => resolve(response.statusCode + ' ' + text)).on('error', reject)
      })
      request.on('error', reject)
      request.end(body)
    })
    const main = async () => {
      const many = await Promise.all(Array.from({ length: 1000 }, (_, i) => ask('slow' + i, 'b' + i)))
      const wrong = many.filter((answer, i) => answer !== '200 POST /slow' + i + ' [b' + i + ']').length
      const waits = await new Promise((resolve, reject) => {
        const request = http.request(url + 'length', { agent, method: 'POST', headers: { expect: '100-continue', 'content-length': 5 } },
          response => response.on('data', piece => resolve('continued ' + piece)))
        request.on('continue', () => request.end('hello')).on('error', reject)
        request.flushHeaders()
      })
      const early = []
      for (let i = 0; i < 5; i++) early.push(await ask('early', Buffer.alloc(20e6), i % 2 ? { 'transfer-encoding': 'chunked' } : {}))
      const fetched = await Promise.all(Array.from({ length: 300 }, (_, i) =>
        fetch(url + 'slow' + i, { method: 'POST', body: 'f' + i }).then(answer => answer.text())))
      const wrongFetched = fetched.filter((answer, i) => answer !== 'POST /slow' + i + ' [f' + i + ']').length
      const streamed = await (await fetch(url + 'stream')).text()
      const refused = await (await fetch(url + 'early', { method: 'POST', body: Buffer.alloc(20e6) })).text()
      console.log(JSON.stringify({ wrong, waits, early: [...new Set(early)], wrongFetched, streamed, refused }))
      process.exit(0)
    }
    main().catch(thrown => { console.log(String(thrown && thrown.stack) + String(thrown && thrown.cause)); process.exit(1) })`
    expect(JSON.parse(await run([node!, '-e', script]))).toEqual({
      wrong: 0,
      waits: 'continued 5',
      early: ['413 you sent too much'],
      wrongFetched: 0,
      streamed: '0;1;2;3;4;5;6;7;8;9;',
      refused: 'you sent too much',
    })
  },
  20_000,
)

const curl = Bun.which('curl')
if (!curl) console.log('skipped: curl (not here)')

test.skipIf(!curl)(
  'curl: 20 MB with and without a word to wait for, chunked, HTTP/1.0, HEAD, several on one connection',
  async () => {
    const ask = (...options: string[]): Promise<string> =>
      run([curl!, '-sS', '--max-time', '10', ...options], Buffer.alloc(20_000_000, 'c'))
    const send = ['-X', 'POST', '--data-binary', '@-']
    expect(await ask(...send, `${url}length`)).toBe('20000000')
    expect(await ask(...send, '-H', 'expect: 100-continue', `${url}length`)).toBe('20000000')
    expect(await ask(...send, '-H', 'expect:', '-H', 'transfer-encoding: chunked', `${url}length`)).toBe('20000000')
    for (const expectation of ['expect:', 'expect: 100-continue'])
      expect(await ask(...send, '-H', expectation, '-w', ' %{http_code}', `${url}early`)).toBe('you sent too much 413')
    expect(await ask('-0', `${url}stream`)).toBe('0;1;2;3;4;5;6;7;8;9;')
    expect(await ask('-I', '-w', '%{http_code}', '-o', '/dev/null', `${url}a`)).toBe('200')
    expect(await ask(`${url}a`, `${url}stream`, `${url}b`, '-w', ' %{num_connects};')).toBe(
      'GET /a [] 1;0;1;2;3;4;5;6;7;8;9; 0;GET /b [] 0;',
    )
  },
  20_000,
)
