/**
 * `npm run ledger-scale -- --rows 1000000 --keys 100000 --days 30`: a ledger of so many rows, and so many keys with
 * their users and teams, in a SQLite file; how long a gateway on it takes for lists, searches and reports. Ends with
 * status 1 when a 95th percentile is above the limit. With `--directory` the file is kept, and used again; with
 * `--database postgres://...` it is a database on Postgres, which has to be there, and is kept. `--only TEXT` asks only
 * questions with that text in their name. With `--beside SECONDS` it measures calls beside clean-up in place of that
 * (`beside.ts`).
 */
import { parseArgs } from 'node:util'
import { masterKey } from '../e2e/harness.ts'
import { measureBeside } from './beside.ts'
import { keysPerUser, usersPerTeam } from './fill.ts'
import { openScalePlace, startOn } from './place.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '100000' },
    days: { type: 'string', default: '30' },
    repeats: { type: 'string', default: '40' },
    directory: { type: 'string' },
    database: { type: 'string' },
    only: { type: 'string', default: '' },
    beside: { type: 'string' },
  },
})
const [rows, keys, days, repeats] = [values.rows, values.keys, values.days, values.repeats].map(Number) as [
  number,
  number,
  number,
  number,
]
if (![rows, keys, days, repeats].every(one => Number.isInteger(one) && one > 0))
  throw new Error('--rows, --keys, --days and --repeats must be whole numbers above 0')

const p95MsMax = 200

const place = await openScalePlace({ rows, keys, days, directory: values.directory, database: values.database })
const seconds = Number(values.beside)
const failed =
  values.beside === undefined ? await measure() : await measureBeside({ databaseUrl: place.databaseUrl, days, seconds })
place.remove()
process.exit(failed ? 1 : 0)

/** true = something took too long. */
async function measure(): Promise<boolean> {
  const server = await startOn(place)
  const random = (most: number) => Math.floor(Math.random() * most)
  const userCount = Math.ceil(keys / keysPerUser)
  const questions: Readonly<Record<string, () => string>> = {
    'keys, first page': () => '/key/list?size=50&return_full_object=true',
    'keys, a page far back': () => `/key/list?size=50&return_full_object=true&page=${1 + random(keys / 50)}`,
    'keys of a team': () => `/key/list?size=50&team_id=team-${random(Math.ceil(userCount / usersPerTeam))}`,
    'users, first page': () => '/user/list?page_size=50',
    'users, searched': () => `/user/list?page_size=50&user_email=user-${random(userCount)}@`,
    'teams, first page': () => '/v2/team/list?page_size=50',
    'budgets, nearest to their limits': () => '/budget/usage',
    overview: () => '/overview',
    'list, first page': () => '/spend/logs/v2?page_size=50',
    'search, a key': () => `/spend/logs/v2?page_size=50&key_id=key-${random(keys)}`,
    'search, a user and a model': () => `/spend/logs/v2?page_size=50&user_id=user-${random(userCount)}&model=model-3`,
    'search, a team': () => `/spend/logs/v2?page_size=50&team_id=team-${random(Math.ceil(userCount / usersPerTeam))}`,
    'histogram, 30 days': () => `/spend/logs/histogram?start_date=${dayAgo(29)}`,
    'histogram, a model': () => `/spend/logs/histogram?start_date=${dayAgo(29)}&model=model-${random(12)}`,
    'histogram, a team': () =>
      `/spend/logs/histogram?start_date=${dayAgo(29)}&team_id=team-${random(Math.ceil(userCount / usersPerTeam))}`,
    'histogram, what failed': () => `/spend/logs/histogram?start_date=${dayAgo(29)}&outcome=error`,
    'daily activity, a user': () => `/user/daily/activity?user_id=user-${random(userCount)}`,
    'daily activity, a team': () => `/team/daily/activity?team_ids=team-${random(Math.ceil(userCount / usersPerTeam))}`,
    'daily activity, a tag': () => `/tag/daily/activity?tags=tag-${random(20) * 10}`,
    'daily activity, everybody, a day': () => '/user/daily/activity?page_size=1',
    'daily activity, everybody, 30 days': () => '/user/daily/activity',
    'usage page, by key, 60 days': () => `/user/daily/activity?page_size=60&start_date=${dayAgo(59)}`,
    'usage page, by team, 60 days': () => `/team/daily/activity?page_size=60&start_date=${dayAgo(59)}`,
    'usage page, by tag, 60 days': () => `/tag/daily/activity?page_size=60&start_date=${dayAgo(59)}`,
    'latency by model, 60 days': () => `/model/latency?group_by=model&start_date=${dayAgo(59)}`,
    'latency by deployment, a day': () => '/model/latency?group_by=deployment&hours=24',
    'spend by key': () => '/spend/keys',
    'spend by user': () => '/spend/users',
    'spend by team and day': () => '/global/spend/teams',
    'spend by tag': () => '/spend/tags',
    'spend report by team': () => '/global/spend/report',
    'search, what failed': () => '/spend/logs/v2?page_size=50&outcome=error',
    'search, a model': () => `/spend/logs/v2?page_size=50&model=model-${random(12)}`,
    'spend by model': () => '/global/spend/models',
    'activity by day': () => '/global/activity',
  }
  let failed = false
  for (const [name, path] of Object.entries(questions).filter(([one]) => one.includes(values.only))) {
    const times: number[] = []
    for (let at = 0; at < repeats; at++) times.push(await timeOf(`${server.url.replace(/\/$/, '')}${path()}`))
    const p95Ms = times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1]!
    failed ||= p95Ms > p95MsMax
    console.log(`${name.padEnd(34)} p95 ${p95Ms.toFixed(1).padStart(8)} ms${p95Ms > p95MsMax ? '  too long' : ''}`)
  }
  await server.stop()
  return failed
}

/** `2026-11-21` */
function dayAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
}

async function timeOf(url: string): Promise<number> {
  const startMs = performance.now()
  const response = await fetch(url, { headers: { authorization: `Bearer ${masterKey}` } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${text.slice(0, 300)}`)
  return performance.now() - startMs
}
