/** Which Redis replicas share limits over: the variable's, else that of the file, in LiteLLM's names. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigProcess } from '../config/reading/config-process.ts'
import { serveOptions } from './serve.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-redis-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** As `serve` asks for it, in the process that reads files, and as commands do. */
async function redisOf(router: string, environment: Record<string, string> = {}): Promise<unknown> {
  const config = join(folder, 'config.yaml')
  const entry = '{ model_name: m, litellm_params: { model: openai/gpt-4o, api_key: k } }'
  writeFileSync(config, `model_list: [${entry}]\nrouter_settings: { ${router} }\n`)
  const input = { flags: { config, 'data-dir': folder }, environment, positionals: [] }
  const reader = new ConfigProcess()
  const { redisUrl } = await serveOptions(input, reader.read)
  reader.forget()
  expect((await serveOptions(input)).redisUrl).toBe(redisUrl as string)
  return redisUrl
}

test('the file names it by address or in parts; REDIS_URL wins', async () => {
  expect(await redisOf('')).toBeUndefined()
  expect(await redisOf('redis_url: "rediss://redis.internal:6380/2"')).toBe('rediss://redis.internal:6380/2')
  expect(await redisOf('redis_host: redis')).toBe('redis://redis:6379')
  const parts =
    'redis_host: os.environ/HOST_OF_REDIS, redis_port: os.environ/PORT_OF_REDIS, redis_password: "p@ss", redis_db: 3'
  const environment = { HOST_OF_REDIS: '10.0.0.7', PORT_OF_REDIS: '7000' }
  expect(await redisOf(parts, environment)).toBe('redis://:p%40ss@10.0.0.7:7000/3')
  expect(await redisOf('redis_host: redis', { REDIS_URL: 'redis://other:1' })).toBe('redis://other:1')
  const wrong = redisOf('redis_url: "http://redis:6379"')
  expect(await wrong.catch((thrown: Error) => thrown.message)).toMatch(/redis_url.*must begin with redis:/s)
})
