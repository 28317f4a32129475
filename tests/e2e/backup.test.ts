/** Backups of a gateway under load, and their restores: consistent, checked, never half. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { runCommand } from '../../src/cli/cli-fixture.ts'
import { freePort, gatewayProgram } from '../support/gateway-process.ts'

const masterKey = 'sk-of-the-backup-tests-0123456789abcdef'
/** More of them: BACKUPS=20. */
const backupsUnderLoad = Number(process.env.BACKUPS ?? 4)
const killsOfRestore = Number(process.env.RESTORE_KILLS ?? 8)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-backup-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Served {
  readonly url: string
  admin(path: string, body?: unknown): Promise<Response>
  /** kill -9. */
  kill(): Promise<void>
  /** By SIGTERM. */
  end(): Promise<void>
}

async function serve(
  dataDirectory: string,
  environment: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<Served> {
  const port = freePort()
  const words = ['serve', '--host', '127.0.0.1', '--port', String(port), '--data-dir', dataDirectory, ...flags]
  const child = Bun.spawn([process.execPath, gatewayProgram, ...words], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    env: {
      ...process.env,
      DATABASE_URL: '',
      REDIS_URL: '',
      MODELGATE_MASTER_KEY: masterKey,
      MODELGATE_DISCOVER: '0',
      MODELGATE_LOG_LEVEL: 'off',
      ...environment,
    },
  })
  let said = ''
  const decoder = new TextDecoder()
  const reader = child.stderr.getReader()
  while (!said.includes('Modelgate serves')) {
    const { done, value } = await reader.read()
    if (done) throw new Error(said)
    said += decoder.decode(value)
  }
  reader.releaseLock()
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    admin: (path, body) =>
      fetch(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
    async end() {
      child.kill()
      await child.exited
    },
  }
}

/** A call whose answer is complete; the id that it has in the ledger. */
async function call({ admin }: Served): Promise<string> {
  const body = { model: 'local/simulated-chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }
  const answer = await admin('/v1/chat/completions', body)
  if (answer.status !== 200) throw new Error(await answer.text())
  await answer.text()
  return answer.headers.get('x-proxy-call-id')!
}

const run = (words: readonly string[], environment: Record<string, string> = {}) => runCommand(words, environment)
const at = (dataDirectory: string) => ({ MODELGATE_DATA_DIR: dataDirectory })

/** The ids of all rows, when the journal has been stored. */
async function storedRows(dataDirectory: string): Promise<string[]> {
  const restored = await serve(dataDirectory)
  const open = () => {
    const database = new Database(join(dataDirectory, 'modelgate.sqlite'), { readonly: true })
    try {
      return (database.query('select request_id as id from ledger').all() as { id: string }[]).map(one => one.id)
    } finally {
      database.close()
    }
  }
  try {
    // What earlier processes left is stored behind new rows: one more call, and all that is waited for.
    const own = await call(restored)
    for (;;) {
      const { ledger } = (await (await restored.admin('/health/readiness')).json()) as {
        ledger?: { backlog?: { records?: number } }
      }
      if (open().includes(own) && !(ledger?.backlog?.records ?? 0)) {
        const segments = readdirSync(join(dataDirectory, 'journal')).filter(name => name.endsWith('.journal'))
        if (segments.every(name => name.split('.')[0] === segments.at(-1)!.split('.')[0])) break
      }
      await Bun.sleep(50)
    }
    return open().filter(id => id !== own)
  } finally {
    await restored.kill()
  }
}

describe('under load', () => {
  test('backups at random moments hold every call that was settled before, once, with sums equal to the rows', async () => {
    const data = join(folder, 'loaded')
    const gateway = await serve(data)
    const settled: string[] = []
    let isLoading = true
    const clients = Array.from({ length: 4 }, async () => {
      while (isLoading) settled.push(await call(gateway))
    })
    const backups: { file: string; before: string[] }[] = []
    try {
      for (let turn = 0; turn < backupsUnderLoad; turn++) {
        await Bun.sleep(50 + Math.random() * 400)
        const file = join(folder, `load-${turn}.backup`)
        const before = [...settled]
        const { code, out, error } = await run(['backup', file], at(data))
        expect([code, error.replace(/^note: .*\n/gm, '')]).toEqual([0, ''])
        expect(out).toContain('read again and found whole')
        backups.push({ file, before })
      }
    } finally {
      isLoading = false
      await Promise.all(clients)
      await gateway.kill()
    }
    for (const [turn, { file, before }] of backups.entries()) {
      const restored = join(folder, `restored-${turn}`)
      expect((await run(['restore', file], at(restored))).code).toBe(0)
      const rows = await storedRows(restored)
      expect(rows.length).toBe(new Set(rows).size)
      const known = new Set(rows)
      expect(before.filter(id => !known.has(id))).toEqual([])
      const verified = await run(['ledger', 'verify'], at(restored))
      expect([verified.code, verified.error]).toEqual([0, ''])
    }
    expect(backups.at(-1)!.before.length).toBeGreaterThan(20)
  }, 300_000)
})

test('the journals of all workers are in a backup, and those of before are moved away', async () => {
  const data = join(folder, 'workers')
  const gateway = await serve(data, {}, ['--workers', '2'])
  const settled: string[] = []
  const file = join(folder, 'workers.backup')
  try {
    for (let turn = 0; turn < 30; turn++) settled.push(await call(gateway))
    expect((await run(['backup', file], at(data))).code).toBe(0)
    expect((await run(['restore', file], at(data))).error).toContain('in use by another process')
  } finally {
    await gateway.end()
  }
  expect((await run(['restore', file], at(data))).code).toBe(0)
  expect(existsSync(join(data, 'workers'))).toBe(false)
  const rows = await storedRows(data)
  expect([rows.length, settled.filter(id => !rows.includes(id))]).toEqual([new Set(rows).size, []])
}, 60_000)

describe('what is restored', () => {
  const key = (alias: string, data: string) => run(['keys', 'create', '--alias', alias], at(data))
  const aliases = async (data: string) => {
    const { out, error } = await run(['keys', 'list', '--json'], at(data))
    return out === '' ? error : (JSON.parse(out) as { alias: string }[]).map(one => one.alias).sort()
  }
  let data: string
  let file: string
  beforeAll(async () => {
    data = join(folder, 'kept')
    await (await serve(data)).kill()
    await key('first', data)
    writeFileSync(join(data, 'encryption-key'), 'a key of stored secrets, 32 characters\n')
    file = join(folder, 'first.backup')
    const made = await run(['backup', file], at(data))
    expect([made.code, made.error]).toEqual([0, expect.stringContaining('the key that opens stored secrets')])
    await key('second', data)
  }, 60_000)

  test('is a file of standard form, of this user alone', () => {
    const listed = Bun.spawnSync(['tar', 'tzf', file]).stdout.toString().trim().split('\n')
    expect(listed.slice(0, 2)).toEqual(['manifest.json', 'modelgate.sqlite'])
    expect(listed).toContain('encryption-key')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).filter(name => name.startsWith('.'))).toEqual([])
  })

  test('is checked without a change; a byte that changed, a cut and a foreign file are named', async () => {
    expect((await run(['restore', file, '--check'])).out).toContain(`${file} is whole: an SQLite database (step `)
    const bytes = readFileSync(file)
    const broken = Buffer.from(bytes)
    broken[Math.floor(bytes.length / 2)]! ^= 1
    for (const [content, why] of [
      [broken, 'is damaged'],
      [bytes.subarray(0, bytes.length - 500), 'is damaged'],
      [Buffer.from('{"not": "a backup"}'), 'neither a gzip nor an age file'],
    ] as const) {
      const other = join(folder, 'broken.backup')
      writeFileSync(other, content)
      for (const words of [
        ['restore', other, '--check'],
        ['restore', other],
      ]) {
        const refused = await run(words, at(data))
        expect([refused.code, refused.out]).toEqual([1, ''])
        expect(refused.error).toContain(why)
      }
    }
    expect(await aliases(data)).toEqual(['first', 'second'])
  })

  test('stays what it was while a gateway runs, and where a file would be written over', async () => {
    const gateway = await serve(data)
    try {
      const refused = await run(['restore', file], at(data))
      expect([refused.code, refused.error]).toEqual([
        1,
        expect.stringContaining('in use by another process: stop that one'),
      ])
      const elsewhere = { ...at(join(folder, 'empty')), DATABASE_URL: `sqlite:${join(data, 'modelgate.sqlite')}` }
      expect((await run(['restore', file], elsewhere)).error).toContain('stop every gateway on it first')
    } finally {
      await gateway.kill()
    }
    const again = await run(['backup', file], at(data))
    expect([again.code, again.error]).toEqual([1, expect.stringContaining('is there already')])
    expect(await aliases(data)).toEqual(['first', 'second'])
  }, 60_000)

  test('a passphrase encrypts, and opens alone', async () => {
    const secret = join(folder, 'encrypted.backup')
    const passphrase = join(folder, 'passphrase')
    writeFileSync(passphrase, 'correct horse battery staple\n')
    expect((await run(['backup', secret, '--passphrase-file', passphrase], at(data))).code).toBe(0)
    expect(readFileSync(secret).includes('modelgate.sqlite')).toBe(false)
    expect(readFileSync(secret).toString('latin1')).toStartWith('age-encryption.org/v1')
    expect((await run(['restore', secret, '--check'])).error).toContain('is encrypted; give its passphrase')
    const wrong = await run(['restore', secret, '--check'], { MODELGATE_BACKUP_PASSPHRASE: 'wrong' })
    expect([wrong.code, wrong.error]).toEqual([1, expect.stringContaining('does not open with this passphrase')])
    const target = join(folder, 'decrypted')
    expect((await run(['restore', secret, '--passphrase-file', passphrase], at(target))).code).toBe(0)
    expect(await aliases(target)).toEqual(['first', 'second'])
    expect(readFileSync(join(target, 'encryption-key'), 'utf8')).toContain('a key of stored secrets')
  }, 60_000)

  test('an identity opens what was encrypted for its recipient', async () => {
    const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
    const identity = await generateX25519Identity()
    const identityFile = join(folder, 'identity')
    writeFileSync(identityFile, `# of the operator\n${identity}\n`)
    const secret = join(folder, 'for-recipient.backup')
    const made = await run(['backup', secret, '--recipient', await identityToRecipient(identity)], at(data))
    expect(made.code).toBe(0)
    expect((await run(['restore', secret, '--check', '--identity-file', identityFile])).code).toBe(0)
    expect((await run(['backup', `${secret}2`, '--recipient', 'nobody'], at(data))).code).toBe(2)
  })

  test('kill -9 at any moment leaves the old state or the new one, never a mixture', async () => {
    const words = ['restore', file, '--data-dir']
    const restoreOnce = (target: string, killMs?: number) => {
      const child = Bun.spawn([process.execPath, gatewayProgram, ...words, target], {
        stdout: 'ignore',
        stderr: 'ignore',
        env: { ...process.env, DATABASE_URL: '' },
      })
      if (killMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killMs)
      return child.exited
    }
    const fromMs = performance.now()
    const whole = join(folder, 'whole')
    cpSync(data, whole, { recursive: true })
    expect(await restoreOnce(whole)).toBe(0)
    const tookMs = performance.now() - fromMs
    expect(await aliases(whole)).toEqual(['first'])
    const kept = readdirSync(whole).find(name => name.startsWith('before-'))!
    expect(readdirSync(join(whole, kept)).sort()).toEqual(['encryption-key', 'journal', 'modelgate.sqlite'])
    for (let turn = 0; turn < killsOfRestore; turn++) {
      const target = join(folder, `killed-${turn}`)
      cpSync(data, target, { recursive: true })
      await restoreOnce(target, tookMs * (0.3 + (0.7 * turn) / killsOfRestore))
      const wasDecided = !existsSync(join(target, 'modelgate.sqlite')) || existsSync(join(target, 'restore.json'))
      const found = await aliases(target)
      if (wasDecided) expect(found).toEqual(['first'])
      expect(['first', 'first second']).toContain([found].flat().join(' '))
      expect((await run(['restore', file], at(target))).code).toBe(0)
      expect(await aliases(target)).toEqual(['first'])
    }
  }, 120_000)

  test('a restore that was cut between two moves is finished by the next start, and by every command', async () => {
    for (const [phase, begin] of [
      ['away', 'keys'],
      ['place', 'keys'],
      ['away', 'serve'],
    ] as const) {
      const target = mkdtempSync(join(folder, 'cut-'))
      const stage = join(target, 'restore-x')
      mkdirSync(join(stage, 'journal'), { recursive: true })
      const before = join(target, 'before-x')
      const old = join(target, 'modelgate.sqlite')
      cpSync(join(folder, 'whole/modelgate.sqlite'), join(stage, 'modelgate.sqlite'))
      mkdirSync(join(target, 'journal'))
      if (phase === 'away') cpSync(join(data, 'modelgate.sqlite'), old)
      writeFileSync(
        join(target, 'restore.json'),
        JSON.stringify({
          phase,
          before,
          away: [[old, join(before, 'modelgate.sqlite')]],
          place: [[join(stage, 'modelgate.sqlite'), old]],
          leftovers: [stage],
        }),
      )
      if (begin === 'serve') await (await serve(target)).kill()
      expect(await aliases(target)).toEqual(['first'])
      expect([existsSync(stage), existsSync(join(target, 'restore.json'))]).toEqual([false, false])
    }
  }, 60_000)
})

const { TEST_DATABASE_URL: postgres } = process.env
const hasDump = Bun.which('pg_dump') !== null && Bun.which('pg_restore') !== null
if (!postgres || !hasDump) console.log('skipped: backups of Postgres (TEST_DATABASE_URL, pg_dump and pg_restore)')

describe.if(postgres !== undefined && hasDump)('Postgres', () => {
  test('is backed up by pg_dump and restored by pg_restore; without them a sentence says so', async () => {
    const name = `backup_${Date.now()}`
    const admin = new SQL(postgres!, { max: 1 })
    await admin.unsafe(`create database ${name}`)
    const address = new URL(postgres!)
    address.pathname = `/${name}`
    const data = join(folder, 'of-postgres')
    const environment = { ...at(data), DATABASE_URL: address.href }
    try {
      const gateway = await serve(data, { DATABASE_URL: address.href })
      const key = (alias: string) => run(['keys', 'create', '--alias', alias], environment)
      await key('first')
      const file = join(folder, 'postgres.backup')
      const made = await run(['backup', file], environment)
      expect([made.code, made.error]).toEqual([0, ''])
      await key('second')
      expect((await run(['restore', file], environment)).error).toContain('in use by another process')
      const beside = await run(['restore', file], { ...environment, ...at(join(folder, 'beside')) })
      expect(beside.error).toContain('stop every gateway on it first')
      await gateway.kill()
      // Its connections end a moment later.
      for (let turn = 0; turn < 100; turn++) {
        const [row] = (await admin`select count(*) as total from pg_stat_activity where datname = ${name}`) as [
          { total: unknown },
        ]
        if (Number(row.total) === 0) break
        await Bun.sleep(50)
      }
      const restored = await run(['restore', file], environment)
      expect([restored.code, restored.out]).toEqual([0, expect.stringContaining('a database of Postgres')])
      const { out } = await run(['keys', 'list', '--json'], environment)
      expect((JSON.parse(out) as { alias: string }[]).map(one => one.alias)).toEqual(['first'])
      const sqlite = await run(['restore', file], at(join(folder, 'sqlite')))
      expect(sqlite.error).toContain('holds a database of Postgres; set DATABASE_URL')
      const path = process.env.PATH
      process.env.PATH = '/nowhere'
      const without = await run(['backup', join(folder, 'none.backup')], environment)
      process.env.PATH = path
      expect([without.code, without.error]).toEqual([1, expect.stringContaining('pg_dump is not installed here')])
    } finally {
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.close()
    }
  }, 120_000)
})
