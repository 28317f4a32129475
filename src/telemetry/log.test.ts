import { afterAll, expect, test } from 'bun:test'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settlement } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { createLogger } from './log.ts'
import type { LogLevel } from './log.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-log-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const clock = { epochMs: () => Date.UTC(2026, 10, 21, 9, 8, 7, 65), monotonicMs: () => 0 }
let files = 0

/** What a logger writes, line by line. */
async function written(level: LogLevel, act: (logger: ReturnType<typeof createLogger>) => void): Promise<string[]> {
  const path = join(folder, `${++files}.log`)
  const descriptor = openSync(path, 'w')
  const logger = createLogger({ level, clock, descriptor })
  act(logger)
  await logger.drain(2000)
  closeSync(descriptor)
  return readFileSync(path, 'utf8').split('\n').slice(0, -1)
}

function settlement(changes: Record<string, unknown> = {}, ending: Partial<Settlement> = {}): Settlement {
  const key = { id: 'key-1', alias: 'ci', userId: 'ada', teamId: null }
  const call = {
    id: '0198-x',
    requestId: '0198-x',
    route: '/v1/chat/completions',
    model: 'fast',
    stream: false,
    progress: { attempts: 1, firstByteMs: 12.34 },
    clientAddress: '127.0.0.1',
    userAgent: 'test/1',
    caller: { role: 'key', key },
    attempt: { dropped: [], deployment: { id: 'd-1', target: { provider: { name: 'p' } } } },
    ...changes,
  }
  return {
    call,
    outcome: 'success',
    status: 200,
    error: undefined,
    usageSource: 'upstream',
    usage: { inputTokens: 3, outputTokens: 4 },
    costNanoUsd: 123n,
    durationMs: 20.04,
    ...ending,
  } as unknown as Settlement
}

test('a call is one line of JSON with its names, counts and times', async () => {
  const [line, ...more] = await written('info', logger => logger.call(settlement()))
  expect(more).toEqual([])
  expect(JSON.parse(line!)).toEqual({
    time: '2026-11-21T09:08:07.065Z',
    level: 'info',
    message: 'call',
    request_id: '0198-x',
    route: '/v1/chat/completions',
    model: 'fast',
    deployment: 'd-1',
    provider: 'p',
    status: 200,
    outcome: 'success',
    stream: false,
    attempts: 1,
    duration_ms: 20,
    first_byte_ms: 12.3,
    input_tokens: 3,
    output_tokens: 4,
    usage_source: 'upstream',
    cost_nano_usd: 123,
    key: 'key-1',
    user: 'ada',
    client: '127.0.0.1',
    user_agent: 'test/1',
  })
})

test("a client's own request id stands beside the gateway's", async () => {
  const [line] = await written('info', logger => logger.call(settlement({ requestId: 'trace/1' })))
  expect(JSON.parse(line!)).toMatchObject({ request_id: '0198-x', client_request_id: 'trace/1' })
})

test('cached texts of one call never appear in the line of another', async () => {
  const other = { key: { id: 'key-2', userId: null } }
  const lines = await written('info', logger => {
    logger.call(settlement())
    logger.call(
      settlement({
        model: 'slow',
        userAgent: 'other/2',
        caller: other,
        attempt: { dropped: [], deployment: { id: 'd-2', target: { provider: { name: 'q' } } } },
      }),
    )
    logger.call(
      settlement(
        { attempt: undefined, progress: { attempts: 1, firstByteMs: -1 } },
        { usage: undefined, costNanoUsd: null },
      ),
    )
  })
  const [first, second, third] = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  expect([first!.model, first!.key, first!.deployment]).toEqual(['fast', 'key-1', 'd-1'])
  expect([second!.model, second!.key, second!.user, second!.user_agent, second!.provider]).toEqual([
    'slow',
    'key-2',
    null,
    'other/2',
    'q',
  ])
  expect([third!.deployment, third!.provider, third!.input_tokens, third!.first_byte_ms, third!.cost_nano_usd]).toEqual(
    [null, null, null, null, null],
  )
})

test('hostile names stay inside their line and cannot steer a terminal', async () => {
  const evil = 'a"\n{"level":"error"}\u001b[31m\u202e\u2028\u0085\ud800'
  const lines = await written('info', logger =>
    logger.call(settlement({ model: evil, userAgent: evil, attempt: { dropped: [evil] } })),
  )
  expect(lines.length).toBe(1)
  expect(lines[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/)
  const record = JSON.parse(lines[0]!) as { model: string; dropped_params: string[] }
  expect(record.model.startsWith('a"\n{')).toBe(true)
  expect(record.dropped_params.length).toBe(1)
})

test('fields that did not reach the model are named, a bounded number of them', async () => {
  const [line] = await written('info', logger =>
    logger.call(settlement({ attempt: { dropped: Array.from({ length: 500 }, (_, at) => `field_${at}`) } })),
  )
  expect((JSON.parse(line!) as { dropped_params: string[] }).dropped_params.length).toBe(50)
})

test('only faults of the gateway or its credentials are errors of the log, with their cause', async () => {
  const lines = await written('info', logger => {
    logger.call(
      settlement(
        {},
        {
          outcome: 'error',
          status: 500,
          error: new GatewayError('internal', 'it failed', { cause: new Error('disk') }),
        },
      ),
    )
    logger.call(settlement({}, { outcome: 'error', status: 429, error: new GatewayError('rate-limited', 'slow down') }))
  })
  const [ours, theirs] = lines.map(line => JSON.parse(line) as Record<string, string>)
  expect([ours!.level, ours!.error]).toEqual(['error', 'internal'])
  expect(ours!.cause).toContain('disk')
  expect([theirs!.level, theirs!.error, theirs!.error_message]).toEqual(['info', 'rate-limited', 'slow down'])
})

test('a level silences what is below it', async () => {
  const all = (logger: ReturnType<typeof createLogger>) => {
    logger.debug('d')
    logger.info('i')
    logger.warn('w', { number: 1, text: 'x', none: undefined })
    logger.error('e')
    logger.call(settlement())
  }
  expect((await written('warn', all)).map(line => (JSON.parse(line) as { message: string }).message)).toEqual([
    'w',
    'e',
  ])
  expect(await written('off', all)).toEqual([])
  expect((await written('debug', all)).length).toBe(5)
})
