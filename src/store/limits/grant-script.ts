/**
 * The exchange between a replica and Redis: one script that takes what the replica holds and wants, and answers with
 * decisions and grants. What Redis holds of an installation, all in one hash slot (on a cluster a script may only touch
 * keys of one):
 *
 * - `limit-replicas`, a hash: of each replica when it was heard last, the number of its last exchange, and the
 *   generation of which it has reported everything; `generation` = the present one and when it began; `run` = the id of
 *   the Redis process.
 * - `limit:<kind>:<scope>`, a hash for each counter: of each replica `<generation> <heard> <kept> <eager until>
 *   <rest>`. `kept` is granted and not spent; the rest is `[age, amount, ...]` of what it spent, by age at `heard`, or
 *   for parallel calls the number of running ones. Every report is the whole state of the replica, so a lost answer and
 *   a repeated report need no rule of their own.
 *   Of money also `s:<process>` = what the process has settled in the period, which stays when the replica is gone, and
 *   `base` = the generation in which what the database says was reported; `d:now` = the database that it is of, and
 *   `d:<database>` = when another one was replaced: what is told of it in the seconds after that is passed over, and
 *   what was told of it before is forgotten.
 * - `limit-mail:<replica>`, a list: counters that another replica runs short of.
 *
 * A generation lasts until data may have been lost: nothing is there, it is older than a replica has seen, or another
 * process answers. Then nothing is granted until all replicas have reported everything, and what the database says is
 * read again. See docs/decisions/0098-redis-has-generations.md.
 *
 * The clock is Redis' own. Replicas send ages, measured on monotonic clocks and so never above the real age at arrival.
 */
import { redisScript } from '../redis/redis-connection.ts'
import { windowMs } from '../../lib/sliding-window.ts'
import { counterMark, exchangeTimes as times, spendMs } from './exchange-terms.ts'
import type { CallReport, CounterKind, CounterReport } from './exchange-terms.ts'
import { localExchange } from './local-exchange.ts'

/** The names of what Redis holds of one installation: others may use the same Redis. */
export interface LimitKeys {
  /** The hash of all replicas. */
  readonly replicas: string
  /** The list of counters that `replica` is asked to report. */
  mail(replica: string): string
  /** The hash of one counter. */
  counter(kind: CounterKind, scope: string): string
}

/** `installation`: its name, of characters that a key may have. */
export function limitKeys(installation: string): LimitKeys {
  const place = `{modelgate}:${installation}`
  const prefix = `${place}:limit`
  return {
    replicas: `${prefix}-replicas`,
    mail: replica => `${prefix}-mail:${replica}`,
    counter: (kind, scope) => `${place}${counterMark(kind)}${scope}`,
  }
}

/** One exchange. */
export interface Exchange {
  readonly replica: string
  /** Grows with each exchange: one that arrives after a later one is dropped. */
  readonly number: number
  /**
   * `known` = an earlier exchange of this replica was answered: if Redis does not know it, its data is lost.
   * `overspent` = known, and it has spent more than was granted while Redis was away, as others may have. `leaving` =
   * it ends: it is no replica any more, and only what it spent counts.
   */
  readonly standing: 'new' | 'known' | 'overspent' | 'leaving'
  /** The last one that was answered; 0 = none. */
  readonly answeredNumber: number
  /** As of the last answer; 0 = none. */
  readonly generation: number
  /** Redis was told everything in this one; 0 = in none. */
  readonly reportedGeneration: number
  readonly keys: readonly string[]
  readonly reports: readonly CounterReport[]
  readonly calls: readonly CallReport[]
  /** Other replicas, as of the last answer. */
  readonly others: readonly string[]
}

/** KEYS and ARGV of the exchange; whether its connection is new follows behind them. */
export function parametersOf(
  { replicas, mail }: LimitKeys,
  exchange: Exchange,
): { readonly keys: string[]; readonly values: string[] } {
  const { replica, number, standing, keys, reports, calls, others } = exchange
  const seen = [exchange.answeredNumber, exchange.generation, exchange.reportedGeneration].map(String)
  return {
    keys: [replicas, mail(replica), ...keys, ...others.map(mail)],
    values: [replica, String(number), standing, ...[reports, calls, others].map(one => JSON.stringify(one)), ...seen],
  }
}

/** What the exchange did for a counter. */
export interface CounterAnswer {
  readonly granted: number
  /** Spent by all replicas, or running calls of all. */
  readonly spent: number
  /** Granted to other replicas and not spent. */
  readonly heldByOthers: number
  /** Of money: Redis needs what the database says now. */
  readonly needsBase: boolean
}

/** The decision on a call. */
export interface CallAnswer {
  /** `later` = other replicas hold what it needs, and are asked to report. */
  readonly decision: 'taken' | 'refused' | 'later'
  /** The counter that is short, from 0; -1 when taken. */
  readonly counter: number
  readonly waitMs: number
  /** Refused by what was spent: nothing can make room before. */
  readonly isCertain: boolean
}

/** Redis' answer to an exchange. */
export interface ExchangeAnswer {
  /** Redis' clock. */
  readonly nowMs: number
  /** Another one than before: everything has to be reported. */
  readonly generation: number
  /** Not all replicas have reported everything: nothing is granted. */
  readonly isSettling: boolean
  /** Other replicas heard in the last seconds. */
  readonly others: readonly string[]
  readonly counters: readonly CounterAnswer[]
  readonly calls: readonly CallAnswer[]
  /** Keys of counters that others run short of. */
  readonly mail: readonly string[]
}

const decisions = ['taken', 'refused', 'later'] as const

/** Undefined = a later exchange of this replica came first, and nothing was done. */
export function readExchange(raw: unknown): ExchangeAnswer | undefined {
  const [nowMs, settling, generation, others, counters, calls, mail] = raw as [
    ...[number, number, number],
    ...[string[], number[], number[], string[]],
  ]
  if (settling < 0) return undefined
  return {
    nowMs,
    generation,
    isSettling: settling === 1,
    others,
    counters: chunks(counters, 4).map(([granted, spent, heldByOthers, needsBase]) => ({
      granted: granted!,
      spent: spent!,
      heldByOthers: heldByOthers!,
      needsBase: needsBase === 1,
    })),
    calls: chunks(calls, 4).map(([decision, counter, waitMs, certain]) => ({
      decision: decisions[decision!]!,
      counter: counter! - 1,
      waitMs: waitMs!,
      isCertain: certain === 1,
    })),
    mail,
  }
}

function chunks(flat: readonly number[], size: number): number[][] {
  return Array.from({ length: flat.length / size }, (_, at) => flat.slice(at * size, (at + 1) * size))
}

/**
 * KEYS: replicas, own mail, counters, mail of the others. ARGV: see `parametersOf`, then 1 = nothing was answered over
 * this connection yet. Answers: see `readAnswer`.
 */
export const exchangeScript = redisScript(
  `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local me, number, standing = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local reports, calls, others = cjson.decode(ARGV[4]), cjson.decode(ARGV[5]), cjson.decode(ARGV[6])
local answered, seen, told, fresh = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10] == '1'
local heard, reported, numbers, living, last, run = {}, {}, {}, {}, nil, nil
local generation, since = 0, 0
local all = redis.call('HGETALL', KEYS[1])
for f = 1, #all, 2 do
  local id = all[f]
  if id == 'generation' then
    local number, began = string.match(all[f + 1], '^(%d+) (%d+)$')
    generation, since = tonumber(number), tonumber(began)
  elseif id == 'run' then run = all[f + 1]
  else
    local at, of, whole = string.match(all[f + 1], '^(%d+) (%d+) (%d+)$')
    at = tonumber(at)
    if id == me then last = tonumber(of)
    elseif now - at > ${times.replicaTtlMs} then redis.call('HDEL', KEYS[1], id)
    else
      heard[id], reported[id], numbers[id] = at, tonumber(whole), tonumber(of)
      if now - at < ${times.livingMs} then living[#living + 1] = id end
    end
  end
end
local known = standing == 'known' or standing == 'overspent'
-- Nothing is there, or it is from before what this replica was answered.
local lost = generation == 0 or seen > generation
if known and seen == generation and (not last or last < answered) then lost = true end
if standing == 'overspent' and now > since + ${2 * times.settleMs} then lost = true end
if fresh or lost then
  -- Redis that was restarted, or another one in its place, may lack the last writes. An access list may hide which.
  local info = redis.pcall('INFO', 'server')
  local process = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
  if process == '' then lost = lost or known
  elseif process ~= run then
    lost = lost or known or run ~= nil
    redis.call('HSET', KEYS[1], 'run', process)
  end
end
if lost then
  generation, since = math.max(now, generation + 1, seen + 1), now
  redis.call('HSET', KEYS[1], 'generation', string.format('%d %d', generation, since))
  -- They lived a moment ago, whatever an older state says.
  living = others
  for _, id in ipairs(others) do
    heard[id], reported[id] = now, 0
    redis.call('HSET', KEYS[1], id, string.format('%d %d 0', now, numbers[id] or 0))
  end
end
if last and last >= number then return {now, -1, 0, {}, {}, {}, {}} end
local settling = now < since + ${times.settleMs}
if not settling and now < since + ${spendMs} then
  settling = told ~= generation and standing ~= 'leaving'
  for id, whole in pairs(reported) do
    if whole ~= generation and now - heard[id] < ${spendMs} then settling = true end
  end
end
redis.call('PEXPIRE', KEYS[1], ${times.replicaTtlMs})
if standing == 'leaving' then redis.call('HDEL', KEYS[1], me)
else redis.call('HSET', KEYS[1], me, string.format('%d %d %d', now, number, told)) end

local function spend(c, base, pairs)
  c.lists[#c.lists + 1] = {base, pairs}
  for p = 1, #pairs, 2 do
    if base - pairs[p] > now - ${windowMs} then c.spent = c.spent + pairs[p + 1] end
  end
end
-- Settled money grows, and so does what came back (below 0, under a name of its own): of what a process, or the
-- database, tells about a process the larger amount is true.
local function settled(key, writer, amount)
  local field = 's:' .. writer
  local known = tonumber(redis.call('HGET', key, field) or '')
  if known and math.abs(amount) <= math.abs(known) then return end
  redis.call('HSET', key, field, string.format('%d', amount))
end
local function read(key, report)
  local c = {kind = report[1], limit = report[2], kept = report[3], rest = report[6]}
  c.spent, c.held, c.taken, c.settled, c.lists, c.unsure = 0, 0, 0, 0, {}, {}
  local parallel = c.kind == 'parallel_requests'
  c.money = c.kind == 'budget'
  c.slots = parallel or c.money
  if c.money then
    local database, stale, base = report[11], false, report[9]
    if database ~= '' then
      local present = redis.call('HGET', key, 'd:now')
      if present and present ~= database then
        local leftAt = tonumber(redis.call('HGET', key, 'd:' .. database) or '')
        stale = leftAt ~= nil and now - leftAt < ${spendMs}
        if not stale then
          for _, field in ipairs(redis.call('HKEYS', key)) do
            if string.sub(field, 1, 2) == 's:' then redis.call('HDEL', key, field) end
          end
          redis.call('HSET', key, 'd:' .. present, string.format('%d', now))
        end
      end
      if not stale then redis.call('HSET', key, 'd:now', database) end
    end
    if not stale then settled(key, report[7], report[8]) end
    if base ~= 0 and not stale then
      for p = 1, #base, 2 do settled(key, base[p], base[p + 1]) end
    end
    if report[10] == generation then redis.call('HSET', key, 'base', string.format('%d', generation)) end
  end
  local lease = parallel and ${times.slotLeaseMs} or ${spendMs + windowMs}
  local all = redis.call('HGETALL', key)
  for f = 1, #all, 2 do
    local id = all[f]
    if id == 'base' then c.base = tonumber(all[f + 1]) == generation
    elseif string.sub(id, 1, 2) == 'd:' then -- names a database
    elseif string.sub(id, 1, 2) == 's:' then c.settled = c.settled + tonumber(all[f + 1])
    elseif id ~= me then
      local of, base, kept, eager, rest = string.match(all[f + 1], '^(%d+) (%d+) (%d+) (%d+) (.*)$')
      base, kept, eager = tonumber(base), tonumber(kept), tonumber(eager)
      local seen = math.max(heard[id] or 0, base)
      -- What is from before a loss, of a replica that has said since what is true.
      local outdated = tonumber(of) ~= generation and reported[id] == generation
      if outdated or now - seen >= lease then redis.call('HDEL', key, id) else
        c.held = c.held + kept
        local running = 0
        if c.slots then
          running = tonumber(rest)
          c.spent = c.spent + running
        else spend(c, base, cjson.decode(rest)) end
        if now - seen < ${times.livingMs} then
          c.lives = c.lives or running > 0
          c.unsure[#c.unsure + 1] = {id = id, base = base, kept = kept, eager = eager > now}
        elseif kept + running > 0 then c.ends = math.min(c.ends or seen + lease, seen + lease) end
      end
    end
  end
  c.others, c.held = c.held, c.held + c.kept
  if c.slots then
    c.lives = c.lives or c.rest > 0
    c.spent = c.spent + c.rest + c.settled
  else spend(c, now, cjson.decode(c.rest)) end
  return c
end
local function sorted(c)
  if not c.dates then
    c.dates = {}
    for _, list in ipairs(c.lists) do
      for p = 1, #list[2], 2 do
        local ends = list[1] - list[2][p] + ${windowMs}
        if ends > now then c.dates[#c.dates + 1] = {ends, list[2][p + 1]} end
      end
    end
    table.sort(c.dates, function(a, b) return a[1] < b[1] end)
  end
  return c.dates
end
-- Until there can be room, and whether it is certain that there is none before.
local function wait(c, amount)
  local full = c.spent + amount > c.limit and not (c.kind == 'tokens' and c.spent == 0)
  if c.slots then
    if c.lives or not c.ends then return 1000, false end
    return c.ends - now, false
  end
  if not full then return math.min(c.ends and c.ends - now or 1000, ${windowMs}), false end
  local left, room = c.spent, math.max(c.limit - amount, 0)
  for _, date in ipairs(sorted(c)) do
    left = left - date[2]
    if left <= room then return math.max(math.min(date[1] - now, ${windowMs}), 1), c.kind == 'requests' end
  end
  return ${windowMs}, false
end
local function fits(c, amount)
  local total = c.spent + c.held
  return total + amount <= c.limit or (c.kind == 'tokens' and total == 0)
end
-- Whether replicas that live may have room: they hold some, or have not reported since the call asked first.
local function pending(c, amount, since)
  if c.kind == 'requests' and c.spent + amount > c.limit then return false end
  local found = false
  for _, other in ipairs(c.unsure) do
    local fresh = other.kept == 0 and (other.eager or (since > 0 and other.base >= since))
    if not fresh then found, other.asked = true, true end
  end
  return found
end

local counters, decided = {}, {}
for i, report in ipairs(reports) do counters[i] = read(KEYS[2 + i], report) end
local function decide(call)
  for p = 2, #call, 2 do
    local c, amount = counters[call[p]], call[p + 1]
    if settling then return 2, call[p], math.max(since + ${times.settleMs} - now, 100), 0 end
    if c.money and not c.base then return 2, call[p], 0, 0 end
    if amount > 0 and not fits(c, amount) then
      c.short = true
      local ms, certain = wait(c, amount)
      local asked = pending(c, amount, call[1])
      -- Money that is only reserved may come back.
      if c.money then asked = c.settled + amount <= c.limit end
      if asked then return 2, call[p], ms, 0 end
      return 1, call[p], ms, certain and 1 or 0
    end
  end
  for p = 2, #call, 2 do
    local c, amount = counters[call[p]], call[p + 1]
    c.spent, c.taken = c.spent + amount, c.taken + amount
    if c.slots then c.lives = true
    else c.lists[#c.lists + 1], c.dates = {now, {0, amount}}, nil end
  end
  return 0, 0, 0, 0
end
for _, call in ipairs(calls) do
  for _, value in ipairs({decide(call)}) do decided[#decided + 1] = value end
end

local places, answers = {}, {}
for i, id in ipairs(others) do places[id] = KEYS[2 + #reports + i] end
for i, c in ipairs(counters) do
  local key, ahead, eager = KEYS[2 + i], reports[i][4], reports[i][5]
  local granted = 0
  if ahead > 0 and not settling and not c.short and (c.base or not c.money) then
    local free = c.limit - c.spent - c.held
    granted = math.max(math.min(ahead, math.floor(free / (2 * (#living + 1)))), 0)
  end
  local kept, rest = c.kept + granted, c.rest
  if c.slots then rest = string.format('%d', rest + c.taken)
  elseif c.taken > 0 then
    rest = string.sub(rest, 1, -2) .. (rest == '[]' and '' or ',') .. string.format('0,%d]', c.taken)
  end
  if kept == 0 and (rest == '[]' or rest == '0') then redis.call('HDEL', key, me)
  else
    local ends = eager > 0 and now + eager or 0
    redis.call('HSET', key, me, string.format('%d %d %d %d %s', generation, now, kept, ends, rest))
    if not c.money then redis.call('PEXPIRE', key, ${times.counterTtlMs}) end
  end
  if c.money then redis.call('PEXPIRE', key, ${times.budgetTtlMs}) end
  for _, other in ipairs(c.unsure) do
    local mail = other.asked and places[other.id]
    if mail and redis.call('LLEN', mail) < ${times.mailLengthMax} then
      redis.call('RPUSH', mail, key)
      redis.call('PEXPIRE', mail, ${times.mailTtlMs})
    end
  end
  answers[#answers + 1] = granted
  answers[#answers + 1] = c.spent
  answers[#answers + 1] = c.others
  answers[#answers + 1] = c.money and not c.base and not settling and 1 or 0
end
local mail = redis.call('LRANGE', KEYS[2], 0, -1)
redis.call('DEL', KEYS[2])
return {now, settling and 1 or 0, generation, living, answers, decided, mail}
`,
  localExchange,
)
