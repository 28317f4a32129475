/** Starts the simulator and a gateway on it, and makes sixty days of an organisation where its folder is empty. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ensureWeb, webDirectory } from '../../bin/web.mjs'
import { startSimulator } from '../../simulator/index.ts'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { openLedgerDatabase } from '../../src/store/ledger/ledger-database.ts'
import { decodeRecord, encodeSettlement } from '../../src/store/ledger/journal/ledger-record.ts'
import { demoAnswers, makeChats } from './chats.ts'
import { fillOrganization, gatewayAsker } from './fill.ts'
import type { AskGateway, MadeKey } from './fill.ts'
import { budgetDuration, budgetOwners, budgetResetMs, demoHistory, historyDays, spentOf } from './history.ts'
import { demoConfiguration } from './models.ts'
import { deploymentPrices } from './prices.ts'

/** All may be left out. */
export interface DemoOptions {
  /** Where everything is kept, and found again by the next start; absent = a temporary folder that goes at the end. */
  readonly directory?: string | undefined
  /** 0, or absent = any free port. */
  readonly port?: number
  readonly seed?: number
}

/** A running demo. */
export interface Demo {
  /** Without a slash at the end. */
  readonly url: string
  readonly masterKey: string
  /** Of every user. */
  readonly password: string
  readonly directory: string
  /** Texts of the keys by alias. */
  readonly keys: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** What the next start of the same folder needs. */
interface Kept {
  readonly masterKey: string
  readonly password: string
  readonly keys: Readonly<Record<string, string>>
}

const insertRows = 1000
const dayMs = 86_400_000
/** Between two steps of the administrators who made the organisation. */
const stepMs = 4 * 3_600_000

const randomText = (bytes: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('base64url')

/** Resolves when the gateway serves and its pages are made. Throws where the folder holds half a demo. */
export async function startDemo({ directory: given, port = 0, seed = 1 }: DemoOptions = {}): Promise<Demo> {
  const directory = given === undefined ? mkdtempSync(join(tmpdir(), 'modelgate-demo-')) : resolve(given)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const pages = await ensureWeb(webDirectory())
  const simulator = await startSimulator({ seed })
  const end = async () => {
    await simulator.stop()
    if (given === undefined) rmSync(directory, { recursive: true, force: true })
  }
  try {
    simulator.script({ path: /chat|messages|responses|enerateContent/ }, { text: answer })
    for (const { question, ...given } of demoAnswers)
      simulator.script({ text: question }, { text: given.answer, ...(given.thinking && { reasoning: given.thinking }) })
    writeFileSync(join(directory, 'config.yaml'), demoConfiguration(simulator.url))
    const serve = (masterKey: string, at: number) => serveDemo({ directory, pages, masterKey, port: at })
    const stateFile = join(directory, 'demo.json')
    if (!existsSync(stateFile)) {
      if (existsSync(join(directory, 'data')))
        throw new Error(`${directory} holds a demo that was not finished; remove the folder, or name another one`)
      const kept = await fill(directory, seed, serve)
      writeFileSync(stateFile, JSON.stringify(kept), { mode: 0o600 })
    }
    const kept = JSON.parse(readFileSync(stateFile, 'utf8')) as Kept
    const server = await serve(kept.masterKey, port)
    return {
      ...kept,
      url: server.url.replace(/\/$/, ''),
      directory,
      async stop() {
        await server.stop()
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

const answer = `Here is what I found:

1. **The order was shipped** on Monday and is due within two days.
2. The invoice went to the address of the account.

| Step | State |
|---|---|
| Packed | done |
| Handed over | done |
| Delivered | expected |

Tell me if a confirmation by mail is needed.`

interface Serving {
  readonly directory: string
  readonly pages: string
  readonly masterKey: string
  readonly port: number
}

const databaseUrl = (directory: string): string => `sqlite:${join(directory, 'data/modelgate.sqlite')}`

function serveDemo({ directory, pages, masterKey, port }: Serving) {
  return startServer({
    configFile: join(directory, 'config.yaml'),
    host: '127.0.0.1',
    port,
    dataDirectory: join(directory, 'data'),
    masterKey: new Secret(masterKey),
    databaseUrl: databaseUrl(directory),
    redisUrl: undefined,
    environment: {
      MODELGATE_LOG_LEVEL: 'off',
      MODELGATE_DRAIN_DELAY_MS: '0',
      MODELGATE_DRAIN_MS: '500',
      MODELGATE_DISCOVER: '0',
      MODELGATE_WEB_DIRECTORY: pages,
      MODELGATE_DEMO: '1',
    },
  })
}

/**
 * With the clock of this process set back: users, keys and rows of the audit log have days of their own, in the two
 * months before now. The rows of the calls are stored once the gateway has stopped.
 */
async function fill(
  directory: string,
  seed: number,
  serve: (masterKey: string, port: number) => ReturnType<typeof startServer>,
): Promise<Kept> {
  const masterKey = `sk-${randomText(24)}`
  const password = `demo-${randomText(12)}`
  const nowMs = Date.now()
  const realNow = Date.now
  let backMs = (historyDays + 12) * dayMs
  Date.now = () => realNow() - backMs
  try {
    const server = await serve(masterKey, 0)
    try {
      const ask = gatewayAsker(server.url.replace(/\/$/, ''), masterKey)
      const keys = await fillOrganization(ask, { password, pass: () => (backMs -= stepMs) })
      const rows = demoHistory({ keys, prices: await deploymentPrices(ask), seed, nowMs })
      backMs = 9 * dayMs
      await setBudgets(ask, keys, { rows, nowMs, pass: () => (backMs -= stepMs / 4) })
      await makeChats(ask, ms => (backMs = ms))
      await server.stop()
      await storeRows(directory, rows)
      return { masterKey, password, keys: Object.fromEntries(keys.map(one => [one.plan.alias, one.text])) }
    } catch (error) {
      await server.stop()
      throw error
    }
  } finally {
    Date.now = realNow
  }
}

type Rows = ReturnType<typeof demoHistory>

/** By the ledger's own writer: daily sums and spending of budgets follow in the same transactions. */
async function storeRows(directory: string, rows: Rows): Promise<void> {
  const ledger = await openLedgerDatabase(databaseUrl(directory))
  ledger.setBulk(true)
  try {
    for (let at = 0; at < rows.length; at += insertRows)
      await ledger.insert(
        rows.slice(at, at + insertRows).map(row => {
          const record = decodeRecord(encodeSettlement(row))
          if (record?.kind !== 'settlement') throw new Error(`a row of the demo is no settlement: ${row.request_id}`)
          return record.values
        }),
      )
  } finally {
    await ledger.close()
  }
}

const nanoUsd = 1e9
const updates = {
  key: ['/key/update', 'key'],
  user: ['/user/update', 'user_id'],
  team: ['/team/update', 'team_id'],
  customer: ['/customer/update', 'user_id'],
} as const

/** Each budget is as large as makes the planned share of it spent. */
async function setBudgets(
  ask: AskGateway,
  keys: readonly MadeKey[],
  { rows, nowMs, pass }: { readonly rows: Rows; readonly nowMs: number; readonly pass: () => void },
): Promise<void> {
  await ask('/team/update', { team_id: 'research', team_member_budget: 40, team_member_budget_duration: '30d' })
  for (const owner of budgetOwners(keys)) {
    const { kind, id, spentShare, softShare } = owner
    const max = Number(spentOf(owner, rows, nowMs)) / nanoUsd / spentShare
    const max_budget = Math.max(Math.round(max * 10) / 10, 0.1)
    const budget = {
      max_budget,
      budget_duration: budgetDuration,
      budget_reset_at: new Date(budgetResetMs(nowMs)).toISOString(),
      ...(softShare !== undefined && { soft_budget: Math.round(max_budget * softShare * 100) / 100 }),
    }
    if (kind === 'organization') await ask('/organization/update', { organization_id: id, ...budget }, 'PATCH')
    else {
      const ownBudget = kind === 'customer' ? { budget_id: null } : {}
      await ask(updates[kind][0], { [updates[kind][1]]: id, ...budget, ...ownBudget })
    }
    pass()
  }
}
