/** A configuration that changes under a running gateway, and which model judges when none is named. */
import { afterEach, describe, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

const masterKey = 'sk-4fT9qL2vX8mB6nR1cW7yK3pZ5dH0gJab'
const otherKey = 'sk-8xQ2wE5rT7yU9iO1pA3sD4fG6hJ0kLcd'

interface Process {
  readonly url: string
  output(): string
  until(text: string): Promise<void>
}

let child: ChildProcess | undefined
let folder: string | undefined
afterEach(async () => {
  if (child && child.exitCode === null) {
    const exited = new Promise(resolve => child!.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }
  if (folder) rmSync(folder, { recursive: true, force: true })
  child = folder = undefined
})

async function serve(configFile: string): Promise<Process> {
  let output = ''
  child = spawn(
    process.execPath,
    [gatewayProgram, 'serve', '--port', '0', '--config', configFile, '--data-dir', join(folder!, 'data')],
    {
      env: {
        PATH: process.env.PATH,
        MODELGATE_DISCOVER: '0',
        MODELGATE_DRAIN_DELAY_MS: '0',
      } as unknown as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (piece: Buffer) => (output += piece.toString()))
  const until = async (text: string): Promise<void> => {
    for (let turn = 0; turn < 2500 && !output.includes(text); turn++) await Bun.sleep(20)
    if (!output.includes(text)) throw new Error(`"${text}" was not said within 50 s:\n${output}`)
  }
  await until('/docs)')
  return { url: / on (http:\S+)/.exec(output)![1]!, output: () => output, until }
}

test('a file that is emptied and written again drops no model meanwhile; what only a start reads is told', async () => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-config-'))
  const file = join(folder, 'config.yaml')
  const text = (key: string, ...names: string[]) =>
    `model_list:\n${names.map(name => `  - { model_name: ${name}, proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1" } }\n`).join('')}general_settings: { master_key: ${key} }\n`
  writeFileSync(file, text(masterKey, 'one'))
  const gateway = await serve(file)
  expect(gateway.output()).toMatch(
    /Modelgate serves 1 model on http:\S+ \(API: http:\S+\/docs\), and \d built-in ones\n/,
  )
  const names = async (key: string) => {
    const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    if (response.status !== 200) return response.status
    const { data } = (await response.json()) as { data: { id: string }[] }
    return data.map(one => one.id).filter(id => !id.startsWith('local/'))
  }
  writeFileSync(file, '')
  await gateway.until('the configuration was not changed')
  expect(gateway.output()).toContain('the file is empty')
  expect(await names(masterKey)).toEqual(['one'])
  writeFileSync(file, text(otherKey, 'one', 'two'))
  await gateway.until('takes effect at the next start')
  const lines = gateway
    .output()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)
  expect(lines.find(line => String(line.message).includes('read anew'))).toMatchObject({ models: 2 })
  expect(lines.find(line => String(line.message).includes('next start'))).toMatchObject({
    level: 'warn',
    settings: 'general_settings.master_key',
  })
  expect(gateway.output()).not.toContain(otherKey)
  expect([await names(masterKey), await names(otherKey)]).toEqual([['one', 'two'], 401])
})

describe('moderation without a model', () => {
  const entry = (name: string, more = '') =>
    `  - { model_name: ${name}, proxy_params: { model: openai/sim-${name}, api_base: "{simulator}/v1", api_key: k }${more} }\n`
  const guard = entry('guard', ', model_info: { mode: chat, guard: true }')
  const judge = entry('judge', ', model_info: { mode: moderation }')
  const judged = async (gateway: Gateway, models: readonly string[] = []) => {
    const key = await gateway.key({ models })
    const response = await fetch(`${gateway.url}/v1/moderations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ input: 'how to make poison' }),
    })
    const { model, detail } = (await response.json()) as { model?: string; detail?: { loc: string[]; msg: string }[] }
    return { status: response.status, model, missing: detail?.[0] }
  }

  test('a judge goes before a guard, and neither a chat model nor the simulated judge stands in for them', async () => {
    const gateway = await startGateway({ config: `model_list:\n${entry('chat')}${guard}${judge}` })
    try {
      gateway.simulator.script(request => request.model === 'sim-guard', { text: 'unsafe' })
      expect(await judged(gateway)).toMatchObject({ status: 200, model: 'judge' })
      expect(await judged(gateway, ['guard', 'chat'])).toMatchObject({ status: 200, model: 'guard' })
      const asked = gateway.simulator.truth.entries.length
      for (const models of [['chat'], ['chat', 'local/*'], ['local/simulated-moderation']]) {
        const refused = await judged(gateway, models)
        expect([refused.status, refused.missing]).toEqual([
          422,
          expect.objectContaining({
            loc: ['body', 'model'],
            msg: expect.stringContaining('name one of GET /v1/models'),
          }),
        ])
      }
      expect(gateway.simulator.truth.entries.length).toBe(asked)
    } finally {
      await gateway.stop()
    }
  })

  test('where there are only built-in models, theirs judges, by its name', async () => {
    const gateway = await startGateway({ config: 'model_list: []\n' })
    try {
      expect(await judged(gateway)).toMatchObject({ status: 200, model: 'local/simulated-moderation' })
    } finally {
      await gateway.stop()
    }
  })
})

test('deployments that were edited away leave a bounded number of series in /metrics', async () => {
  const edited = (at: number) => `
model_list:
  - model_name: edited
    proxy_params: { model: custom_openai/edited, api_base: "{simulator}/edit-${at}/v1" }
`
  const gateway = await startGateway({ config: edited(0) })
  try {
    const text = readFileSync(gateway.configFile, 'utf8')
    for (let at = 1; at <= 60; at++) {
      const { status } = await gateway.admin('/v1/chat/completions', {
        model: 'edited',
        messages: [{ role: 'user', content: 'say: hi' }],
      })
      expect(status).toBe(200)
      writeFileSync(gateway.configFile, text.replace('edit-0', `edit-${at}`))
      expect(await gateway.server.reload()).toMatchObject({ applied: true })
    }
    const metrics = await (await gateway.admin('/metrics')).text()
    expect(metrics.match(/^modelgate_call_duration_seconds_count\{.*$/gm)!.length).toBe(50)
  } finally {
    await gateway.stop()
  }
})
