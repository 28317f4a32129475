/** A large ledger to measure on: made when it is missing, and kept where a directory or a database is named. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { masterKey } from '../e2e/harness.ts'
import { copyKeys, fillLedger, isFilled, prepare } from './fill.ts'

interface ScaleOptions {
  readonly rows: number
  readonly keys: number
  readonly days: number
  /** Absent = a temporary one. */
  readonly directory?: string | undefined
  /** `postgres://...`; absent = a SQLite file in the directory. */
  readonly database?: string | undefined
}

/** Where it is. */
export interface ScalePlace {
  readonly databaseUrl: string
  readonly directory: string
  /** Removes it, unless a directory was named. */
  remove(): void
}

/** So many rows, and so many keys with their users and teams. */
export async function openScalePlace({ rows, keys, days, ...at }: ScaleOptions): Promise<ScalePlace> {
  const directory = at.directory ?? mkdtempSync(join(tmpdir(), 'ledger-scale-'))
  mkdirSync(directory, { recursive: true })
  const databaseUrl = at.database ?? `sqlite:${join(directory, 'modelgate.sqlite')}`
  const remove = () => at.directory ?? rmSync(directory, { recursive: true, force: true })
  const place = { databaseUrl, directory, remove }
  if (!(await isFilled(databaseUrl))) {
    await prepare(databaseUrl)
    await fillKeys(place, keys)
    await fillLedger(databaseUrl, { rows, keys, days })
  }
  return place
}

/** One key, user and team are made by the API. */
async function fillKeys(place: ScalePlace, keys: number): Promise<void> {
  const server = await startOn(place)
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${server.url.replace(/\/$/, '')}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify(body),
    })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  }
  await post('/team/new', { team_id: 'first', team_alias: 'first', max_budget: 100, budget_duration: '1mo' })
  await post('/user/new', { user_id: 'first', user_email: 'first@example.com', auto_create_key: false })
  await post('/key/generate', {
    key_alias: 'first',
    user_id: 'first',
    team_id: 'first',
    max_budget: 10,
    budget_duration: '30d',
  })
  await server.stop()
  await copyKeys(place.databaseUrl, keys)
}

/** A gateway in this process on it. */
export function startOn({ databaseUrl, directory }: ScalePlace) {
  return startServer({
    configFile: undefined,
    host: '127.0.0.1',
    port: 0,
    dataDirectory: directory,
    masterKey: new Secret(masterKey),
    databaseUrl,
    redisUrl: undefined,
    environment: { MODELGATE_LOG_LEVEL: 'off', MODELGATE_DRAIN_DELAY_MS: '0', MODELGATE_DISCOVER: '0' },
  })
}
