/** Commands of operators beside a gateway: usage, logs tail, models test, doctor. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../../src/cli/cli-fixture.ts'
import { clockFinding } from '../../src/cli/doctor/check-stores.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import type { TestedModel } from '../../src/cli/test-calls.ts'
import { freePort, gatewayProgram } from '../support/gateway-process.ts'
import { masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let folder: string
let gateway: Gateway
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-operator-'))
  gateway = await startGateway({ config: standardConfig })
})
afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

const chat = async (key: string, more: object = {}) => {
  const body = { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }], ...more }
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  await answer.text()
  return answer.status
}

describe('usage', () => {
  const run = (...words: string[]) => runCommand(['usage', ...words], { MODELGATE_DATA_DIR: gateway.dataDirectory })

  test('sums by key, team, model and day have names, and agree with the ledger', async () => {
    const [rich, poor] = [
      await gateway.key({ key_alias: '=rich', team_id: 'team-of-usage' }),
      await gateway.key({ key_alias: 'poor' }),
    ]
    for (let call = 0; call < 3; call++) expect(await chat(rich)).toBe(200)
    expect(await chat(poor)).toBe(200)
    expect(await chat(poor, { model: 'chat-model', max_tokens: 0 })).toBeGreaterThanOrEqual(400)
    const rows = async (...words: string[]) =>
      JSON.parse((await run('--json', ...words)).out) as Record<string, unknown>[]
    // The ledger is a moment behind.
    for (let turn = 0; turn < 200 && (await rows('--by', 'day'))[0]?.calls !== 5; turn++) await Bun.sleep(50)
    const today = new Date().toISOString().slice(0, 10)
    expect(await rows()).toEqual([expect.objectContaining({ day: today, calls: 5, failed: 1 })])
    const byKey = await rows('--by', 'key')
    expect(byKey.map(one => [one.key, one.calls, one.failed]).sort()).toEqual([
      ['=rich', 3, 0],
      ['poor', 2, 1],
    ])
    const [ofTeam] = (await rows('--by', 'team,model')).filter(one => one.team_id === 'team-of-usage')
    expect(ofTeam).toMatchObject({ model: 'chat-model', calls: 3 })
    const database = new Database(join(gateway.dataDirectory, 'modelgate.sqlite'), { readonly: true })
    const { nano } = database.query('select sum(cost_nano_usd) as nano from ledger').get() as { nano: number }
    database.close()
    const costs = (await rows('--by', 'model')).reduce((sum, one) => sum + Number(one.cost_usd), 0)
    expect(Math.round(costs * 1e9)).toBe(nano)
    expect(nano).toBeGreaterThan(0)
    const csv = (await run('--by', 'key', '--csv')).out.split('\n')
    expect(csv[0]).toBe('key_id,key,calls,failed,input_tokens,output_tokens,cost_usd,unpriced')
    // No spreadsheet takes it for a formula.
    expect(csv.some(line => line.includes(",'=rich,"))).toBe(true)
    const short = await run('--by', 'key', '--limit', '1')
    expect([short.code, short.error]).toEqual([0, 'note: there are more than 1 rows; raise --limit\n'])
    expect((await run('--by', 'key', '--from', '2020-01-01', '--to', '2020-01-02', '--json')).out).toBe('[]\n')
  })

  test('wrong flags are named', async () => {
    for (const [words, message] of [
      [
        ['--by', 'kye'],
        "--by must be of day, key, user, team, organization, model, provider, deployment, each once; got 'kye'",
      ],
      [['--by', 'key,key'], "got 'key'"],
      [['--limit', '0'], '--limit must be a whole number from 1'],
      [['--from', 'monday'], '--from must be a day'],
    ] as const) {
      const { code, error } = await run(...words)
      expect([code, error]).toEqual([2, expect.stringContaining(message)])
    }
  })
})

describe('logs tail', () => {
  test('shows calls as they end; filters are those of the API, and a wrong key ends it', async () => {
    const key = await gateway.key({ key_alias: 'tailed' })
    const words = ['logs', 'tail', '--url', gateway.url, '--filter', 'key_alias=tailed']
    const child = Bun.spawn([process.execPath, gatewayProgram, ...words], {
      stdout: 'pipe',
      stderr: 'ignore',
      env: { ...process.env, MODELGATE_MASTER_KEY: masterKey },
    })
    let shown = ''
    const calling = setInterval(() => void chat(key), 100)
    try {
      for await (const bytes of child.stdout) {
        shown += new TextDecoder().decode(bytes)
        if (shown.includes('\n')) break
      }
    } finally {
      clearInterval(calling)
      child.kill()
      await child.exited
    }
    expect(shown.split('\n')[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} {2}200 {2}success +\d+ ms +\d+\+\d+ +\$0\.\d{6} {2}chat-model {2}tailed$/,
    )
    const wrong = await runCommand(['logs', 'tail', '--url', gateway.url], { MODELGATE_KEY: 'sk-nobody' })
    expect([wrong.code, wrong.error]).toEqual([1, expect.stringContaining('401: ')])
    const none = await runCommand(['logs', 'tail'], {})
    expect([none.code, none.error]).toEqual([2, expect.stringContaining('set MODELGATE_KEY')])
    const gone = `http://127.0.0.1:${freePort()}`
    const away = await runCommand(['logs', 'tail', '--url', gone], { MODELGATE_KEY: 'sk-x' })
    expect([away.code, away.error]).toEqual([1, expect.stringContaining(`the gateway at ${gone} cannot be asked`)])
    const filter = await runCommand([...words, '--filter', 'colour=red'], { MODELGATE_KEY: masterKey })
    expect([filter.code, filter.error]).toEqual([1, expect.stringMatching(/^4\d\d: .*colour/)])
  }, 30_000)
})

/** Answers as an upstream with one good key. */
function upstream(seen: string[]) {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { model, max_tokens: most } = (await request.json()) as { model: string; max_tokens?: number }
      seen.push(`${new URL(request.url).pathname} ${model} ${most ?? ''}`.trim())
      if (request.headers.get('authorization') !== 'Bearer good')
        return Response.json({ error: { message: 'Incorrect API key provided' } }, { status: 401 })
      if (request.url.endsWith('/embeddings'))
        return Response.json({
          object: 'list',
          model,
          data: [{ object: 'embedding', index: 0, embedding: [0.1] }],
          usage: { prompt_tokens: 1, total_tokens: 1 },
        })
      const message = { role: 'assistant', content: 'ok' }
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      return Response.json({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model,
        usage,
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      })
    },
  })
}

describe('test calls', () => {
  test('each deployment is called once by itself; a wrong key, a dead host and a skipped kind are told apart', async () => {
    const seen: string[] = []
    const server = upstream(seen)
    const file = join(folder, 'calls.yaml')
    const entry = (name: string, more: string, base = `http://127.0.0.1:${server.port}/v1`) =>
      `  - { model_name: ${name}, proxy_params: { model: custom_openai/${more.split(',')[0]}, api_base: "${base}", ` +
      `api_key: ${more.split(',')[1]}, input_cost_per_token: 0, output_cost_per_token: 0 }` +
      `${more.split(',')[2] ? `, model_info: { mode: ${more.split(',')[2]} }` : ''} }\n`
    writeFileSync(
      file,
      `model_list:\n${entry('good', 'a,good')}${entry('good', 'b,bad')}${entry('vectors', 'c,good,embedding')}` +
        `${entry('picture', 'd,good,image_generation')}${entry('dead', 'e,good', `http://127.0.0.1:${freePort()}/v1`)}` +
        `general_settings: { disable_local_models: true }\nrouter_settings: { fallbacks: [{ dead: [good] }] }\n`,
    )
    try {
      const { code, out } = await runCommand(['models', 'test', '--config', file, '--json'], {})
      const all = JSON.parse(out) as TestedModel[]
      expect([code, all.map(one => [one.upstream, one.state])]).toEqual([
        1,
        [
          ['custom_openai/a', 'ok'],
          ['custom_openai/b', 'failed'],
          ['custom_openai/c', 'ok'],
          ['custom_openai/d', 'skipped'],
          ['custom_openai/e', 'failed'],
        ],
      ])
      expect(all[1]!.message).toContain('Incorrect API key provided')
      expect(seen.sort()).toEqual(['/v1/chat/completions a 16', '/v1/chat/completions b 16', '/v1/embeddings c'])
      const one = await runCommand(['models', 'test', 'vectors', '--config', file], {})
      expect([one.code, one.error]).toEqual([0, ''])
      const none = await runCommand(['models', 'test', 'nowhere', '--config', file], {})
      expect([none.code, none.error]).toEqual([1, expect.stringContaining("no model is called 'nowhere'")])
      const words = ['doctor', '--calls', '--json', '--config', file, '--port', String(freePort())]
      const seenBy = await runCommand([...words, '--data-dir', join(folder, 'none')], {})
      const { ok, findings } = JSON.parse(seenBy.out) as { ok: boolean; findings: Finding[] }
      expect([seenBy.code, ok]).toEqual([1, false])
      const problems = findings.filter(one => one.state === 'problem')
      expect(problems.map(one => one.about)).toEqual(['call of good', 'call of dead'])
      for (const { remedy } of problems) expect(remedy).toContain(`${file}:`)
    } finally {
      await server.stop(true)
    }
  }, 60_000)
})

describe('doctor', () => {
  const doctor = async (flags: readonly string[], environment: Record<string, string> = {}) => {
    const words = ['doctor', '--json', '--port', String(freePort()), ...flags]
    const { code, out, error } = await runCommand(words, environment)
    if (out === '') throw new Error(error)
    const { findings } = JSON.parse(out) as { findings: Finding[] }
    return { code, findings, of: (about: string) => findings.filter(one => one.about === about) }
  }

  test('all is well beside a gateway that serves, and every finding that is not has a remedy', async () => {
    const found = await doctor(['--data-dir', gateway.dataDirectory])
    expect([found.code, found.findings.filter(one => one.state === 'problem')]).toEqual([0, []])
    expect(found.of('database')[0]!.message).toMatch(/^it is whole, at step \d+$/)
    const serving = await doctor(['--data-dir', gateway.dataDirectory, '--port', new URL(gateway.url).port])
    expect(serving.of('port')[0]!.message).toContain('a gateway answers on')
    const fresh = await doctor(['--data-dir', join(folder, 'fresh')])
    for (const one of [...found.findings, ...fresh.findings]) expect(one.state === 'ok').toBe(one.remedy === undefined)
  })

  test('a damaged database, a taken port, a dead Redis and Postgres, a cut restore and a wrong file are problems', async () => {
    const broken = join(folder, 'broken')
    mkdirSync(broken, { mode: 0o700 })
    writeFileSync(join(broken, 'modelgate.sqlite'), 'SQLite format 3\0 and then something else'.repeat(200))
    writeFileSync(join(broken, 'restore-begun'), '')
    const other = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const file = join(folder, 'wrong.yaml')
    writeFileSync(file, 'model_list: 5\n')
    const dead = freePort()
    try {
      const found = await doctor(['--data-dir', broken, '--port', String(other.port)], {
        REDIS_URL: `redis://127.0.0.1:${dead}`,
      })
      expect(found.code).toBe(1)
      const problems = found.findings.filter(one => one.state === 'problem').map(one => [one.about, one.remedy])
      expect(problems).toEqual([
        ['data directory', expect.stringContaining('run modelgate restore again')],
        ['database', expect.stringContaining('modelgate restore FILE')],
        ['redis', expect.stringContaining('REDIS_URL')],
        ['port', expect.stringContaining('--port')],
      ])
      const postgres = await doctor(['--data-dir', join(folder, 'p')], {
        DATABASE_URL: `postgres://u:secret@127.0.0.1:${dead}/x`,
      })
      expect(postgres.of('database')).toEqual([expect.objectContaining({ state: 'problem' })])
      expect(JSON.stringify(postgres.findings)).not.toContain('secret')
      const wrong = await doctor(['--config', file])
      expect(wrong.of('configuration')).toEqual([
        expect.objectContaining({ state: 'problem', message: expect.stringContaining('model_list: must be a list') }),
      ])
    } finally {
      other.stop(true)
    }
  }, 30_000)

  test('clocks that differ are found, as far as the way there lets it be known', () => {
    const stateOf = (theirsMs: number) => clockFinding('the database', theirsMs, 10_000, 10_200).state
    expect([10_100, 9_500, 11_000, 11_300, 8_000, 16_000, 4_000].map(stateOf)).toEqual([
      'ok',
      'ok',
      'ok',
      'warning',
      'warning',
      'problem',
      'problem',
    ])
  })
})
