/** Secrets that enter by every road are found in no answer, log, trace or file but those that hold them on purpose. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { masterKey } from './harness.ts'
import { startKeyUpstream } from './key-upstream.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

/** By the road that they take. */
const planted = {
  inline: 'planted-inline-4Jq9xW2mT7',
  environment: 'planted-environment-8Rk3bN5',
  file: 'planted-file-6Yp1cV0sH4',
  vault: 'planted-vault-2Lm8dG7zK9',
  command: 'planted-command-5Tw3fQ1xB6',
  credential: 'planted-credential-9Za4hJ2rM8',
  changed: 'planted-changed-3Ce7kD6uN1',
  header: 'planted-header-7Bv5gS0yP2',
  refused: 'planted-refused-1Xf6lE9wR3',
  deleted: 'planted-deleted-8Dn2oU4tC5',
}
const all = Object.values(planted)

/** Every file below a directory, as bytes. */
function filesIn(folder: string): { path: string; bytes: Buffer }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => statSync(path).isFile())
    .map(path => ({ path, bytes: readFileSync(path) }))
}

/** A gateway as a process of its own, with everything that it writes. */
async function serve(words: readonly string[], environment: Readonly<Record<string, string>>) {
  const child = Bun.spawn([process.execPath, gatewayProgram, 'serve', '--port', '0', ...words], {
    env: {
      PATH: process.env.PATH,
      HOME: tmpdir(),
      MODELGATE_DISCOVER: '0',
      MODELGATE_LOG_LEVEL: 'debug',
      MODELGATE_DRAIN_DELAY_MS: '0',
      MODELGATE_MASTER_KEY: masterKey,
      ...environment,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let output = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const piece of stream) output += decoder.decode(piece, { stream: true })
  }
  const ended = Promise.all([read(child.stdout), read(child.stderr), child.exited])
  let url: string | undefined
  while ((url = /serves .* on (http:\S+)/.exec(output)?.[1]) === undefined) {
    if (child.exitCode !== null) throw new Error(`it did not start:\n${output}`)
    await Bun.sleep(20)
  }
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return { url, output: () => output, stop }
}

test('no planted secret comes out anywhere', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-planted-'))
  const dataDirectory = join(folder, 'data')
  const upstream = startKeyUpstream()
  const vault = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => Response.json({ data: { data: { key: planted.vault } } }),
  })
  const secretFile = join(folder, 'secret-of-file')
  writeFileSync(secretFile, planted.file)
  const commandFile = join(folder, 'secret-of-command')
  writeFileSync(commandFile, planted.command)
  const configFile = join(folder, 'config.yaml')
  const entry = (name: string, key: string) =>
    `  - { model_name: ${name}, proxy_params: { model: custom_openai/x, api_base: "${upstream.url}", api_key: "${key}" } }\n`
  writeFileSync(
    configFile,
    `model_list:\n${entry('by-file', `file${secretFile}`)}${entry('by-vault', 'vault/secret/x#key')}${entry(
      'by-command',
      `command/cat ${commandFile}`,
    )}general_settings: { secret_file_directories: ["${folder}"], allowed_environment_references: [PLANTED] }\n`,
  )
  const gateway = await serve(['--config', configFile, '--data-dir', dataDirectory], {
    PLANTED: planted.environment,
    VAULT_ADDR: vault.url.href,
    VAULT_TOKEN: 'hvs.x',
  })
  const answers: string[] = []
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${masterKey}` },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    answers.push(`${path} ${JSON.stringify([...response.headers])} ${text}`)
    return { status: response.status, body: (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, string> }
  }
  const made: string[] = []
  const make = async (name: string, params: object) => {
    const base = { model: 'custom_openai/x', api_base: upstream.url }
    const { status, body } = await send('POST', '/model/new', {
      model_name: name,
      litellm_params: { ...base, ...params },
    })
    if (status === 200) made.push(body.model_id!)
    return status
  }
  try {
    expect(await make('api-inline', { api_key: planted.inline, extra_headers: { 'x-key': planted.header } })).toBe(200)
    expect(await make('api-environment', { api_key: 'os.environ/PLANTED' })).toBe(200)
    expect(await make('api-file', { api_key: `file${secretFile}` })).toBe(200)
    expect(await make('api-vault', { api_key: 'vault/secret/x#key' })).toBe(200)
    expect(await make('api-refused', { api_key: planted.refused, timeout: -1 })).toBe(422)
    expect(await make('api-refused', { api_key: ` ${planted.refused} x` })).toBe(422)
    expect(await make('api-refused', { api_base: `http://x:${planted.refused}@127.0.0.1:1/v1` })).toBe(422)
    const values = (key: string) => ({ credential_name: 'shared', credential_values: { api_key: key } })
    await send('POST', '/credentials', values(planted.credential))
    expect(await make('api-credential', { litellm_credential_name: 'shared' })).toBe(200)
    await send('PATCH', '/credentials/shared', values(planted.changed))
    expect(await make('api-deleted', { api_key: planted.deleted })).toBe(200)
    await send('POST', '/model/delete', { id: made.pop()! })
    const names = ['by-file', 'by-vault', 'by-command', 'api-inline', 'api-environment', 'api-file', 'api-vault']
    for (const model of [...names, 'api-credential', 'api-refused']) {
      const body = { model, messages: [{ role: 'user', content: 'hi' }] }
      await send('POST', '/v1/chat/completions', body)
      await send('POST', '/utils/transform_request', { call_type: 'completion', request_body: body })
    }
    const sent = upstream.keys.map(key => key?.slice('Bearer '.length))
    for (const road of ['inline', 'environment', 'file', 'vault', 'command', 'changed'] as const)
      expect(sent).toContain(planted[road])
    for (const id of made) await send('GET', `/credentials/by_model/${id}`)
    const reads = [
      '/credentials',
      '/credentials/by_name/shared',
      '/model/info',
      '/v2/model/info',
      '/health',
      '/metrics',
    ]
    for (const path of [
      ...reads,
      '/model_group/info',
      '/config/effective',
      '/v1/models',
      '/spend/logs/v2',
      '/health/readiness',
    ])
      await send('GET', path)
    const leaks = (text: string) => all.filter(secret => text.includes(secret))
    for (const answer of answers)
      expect([answer.split(' ', 1)[0], leaks(answer)]).toEqual([answer.split(' ', 1)[0], []])
    const files = filesIn(dataDirectory)
    expect(files.some(({ path }) => path.endsWith('.sqlite'))).toBe(true)
    for (const { path, bytes } of files) expect([path, all.filter(one => bytes.includes(one))]).toEqual([path, []])
  } finally {
    await gateway.stop()
    await upstream.stop()
    await vault.stop(true)
  }
  const log = gateway.output()
  expect(log.length).toBeGreaterThan(0)
  expect(all.filter(secret => log.includes(secret))).toEqual([])
  for (const { path, bytes } of filesIn(dataDirectory))
    expect([path, all.filter(one => bytes.includes(one))]).toEqual([path, []])
  rmSync(folder, { recursive: true })
}, 60_000)
