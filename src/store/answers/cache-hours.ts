/**
 * What the cache found and saved, summed by hour for all replicas: each adds what it has counted since it did so last.
 * A process that is killed loses its last seconds.
 */
import type { CacheCounts } from '../../core/cache/cache-settings.ts'
import type { CacheHour, CacheHours } from '../../core/cache/answer-cache.ts'
import type { Clock } from '../../lib/clock.ts'
import { answerInTime, toNumber, transactionUnsynced, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { hourMs } from '../../lib/clock.ts'

const writeEveryMs = 10_000
/** Sums older than this are deleted. */
const keptHours = 400 * 24
const savedName = 'saved_nano_usd'
const missName = 'miss'
const hitPrefix = 'hit:'

interface CacheHoursOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'epochMs'>
  /** Of this process, since its start. */
  counts(): Pick<CacheCounts, 'hits' | 'misses' | 'savedNanoUsd'>
}

/** To be stopped before the database is closed. */
export interface RunningCacheHours extends CacheHours {
  stop(): Promise<void>
}

/** Begins to write every ten seconds, where there is something to write. */
export function countCacheHours({ database, clock, counts }: CacheHoursOptions): RunningCacheHours {
  const { sql } = database
  let written = new Map<string, bigint>()
  let writing: Promise<void> = Promise.resolve()

  const write = async (): Promise<void> => {
    const now = totalsOf(counts())
    const added = [...now].flatMap(([name, total]) => {
      const amount = total - (written.get(name) ?? 0n)
      return amount > 0n ? [{ name, amount }] : []
    })
    if (added.length === 0) return
    const hour = Math.floor(clock.epochMs() / hourMs)
    // Sums of a cache are not worth that calls wait for the disk.
    await transactionUnsynced(database, async tx => {
      for (const { name, amount } of added)
        await tx`
          insert into cache_hours (hour, name, amount) values (${hour}, ${name}, ${amount.toString()})
          on conflict (hour, name) do update set amount = cache_hours.amount + excluded.amount`
      await tx`delete from cache_hours where hour < ${hour - keptHours}`
    })
    written = now
  }
  /** One after the other, so that nothing is added twice. */
  const writeNext = (): Promise<void> => (writing = writing.catch(() => {}).then(write))
  // While the database is away the counts go on, and are added when it is back.
  const timer = setInterval(() => void writeNext().catch(() => {}), writeEveryMs)
  timer.unref()

  return {
    async since(firstHour) {
      await whileAvailable(database, 'sums of the cache', writeNext)
      // As texts: SQLite's driver rounds large numbers.
      const rows = (await whileAvailable(
        database,
        'sums of the cache',
        async () =>
          await sql`
          select hour, name, cast(amount as text) as amount from cache_hours
          where hour >= ${firstHour} order by hour`,
      )) as { hour: unknown; name: string; amount: unknown }[]
      return hoursOf(rows)
    },
    async stop() {
      clearInterval(timer)
      await answerInTime(writeNext()).catch(() => {})
    },
  }
}

function totalsOf({ hits, misses, savedNanoUsd }: ReturnType<CacheHoursOptions['counts']>): Map<string, bigint> {
  const found = [...hits].map(([kind, count]) => [hitPrefix + kind, BigInt(count)] as const)
  return new Map([...found, [missName, BigInt(misses)], [savedName, savedNanoUsd]])
}

function hoursOf(rows: readonly { hour: unknown; name: string; amount: unknown }[]): CacheHour[] {
  return [...Map.groupBy(rows, one => toNumber(one.hour))].map(([hour, of]) => {
    const amount = (name: string): bigint => BigInt(String(of.find(one => one.name === name)?.amount ?? 0))
    const hits = of.filter(one => one.name.startsWith(hitPrefix))
    return {
      hour,
      hits: new Map(hits.map(one => [one.name.slice(hitPrefix.length), toNumber(one.amount)])),
      misses: Number(amount(missName)),
      savedNanoUsd: amount(savedName),
    }
  })
}
