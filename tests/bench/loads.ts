/** One load on one subject: calls by wrk, or paced streams by our own client. */
import { join } from 'node:path'
import { requestBody } from './fixtures.ts'
import { coreOfLoad, cpuUs, startPinned } from './machine.ts'
import type { Subject } from './subjects.ts'

/** What calls cost at 64 connections. CPU time is of the subject, all threads. */
export interface CallFigures {
  requests: number
  requestsPerS: number
  cpuUs: number
  p50Ms: number
  p99Ms: number
}

/** Small calls as fast as they are answered. Throws where one fails. */
export async function measureCalls(
  subject: Subject,
  durationS: number,
  path = '/v1/chat/completions',
  body = requestBody,
): Promise<CallFigures> {
  const cpuBefore = subject.pids.length > 0 ? cpuUs(subject.pids) : 0
  const child = startPinned(
    coreOfLoad,
    [
      'wrk',
      '-t1',
      '-c64',
      `-d${durationS}s`,
      '--latency',
      '-s',
      join(import.meta.dir, 'chat.lua'),
      `${subject.base}${path}`,
    ],
    { BENCH_BODY: body, BENCH_KEY: subject.key },
  )
  const text = await new Response(child.stdout).text()
  const cpu = subject.pids.length > 0 ? cpuUs(subject.pids) - cpuBefore : Number.NaN
  const requests = Number(/(\d+) requests in/.exec(text)?.[1])
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${subject.name} failed under load:\n${text}`)
  return {
    requests,
    requestsPerS: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
    cpuUs: cpu / requests,
    p50Ms: wrkMs(/50%\s+([\d.]+)(us|ms|s)/.exec(text)),
    p99Ms: wrkMs(/99%\s+([\d.]+)(us|ms|s)/.exec(text)),
  }
}

function wrkMs(found: RegExpExecArray | null): number {
  if (!found) return Number.NaN
  return Number(found[1]) * (found[2] === 'us' ? 0.001 : found[2] === 's' ? 1000 : 1)
}

/** What 500 streams at 50 events a second each cost. */
export interface StreamFigures {
  eventsPerS: number
  cpuUs: number
  failed: number
}

/** 500 streams at once. */
export async function measureStreams(
  subject: Subject,
  durationS: number,
  path = subject.streamPath,
): Promise<StreamFigures> {
  const child = startPinned(coreOfLoad, [
    process.execPath,
    join(import.meta.dir, 'stream-client.ts'),
    subject.base,
    path,
    subject.key,
    '500',
    String(durationS),
  ])
  let cpuBefore = 0
  let text = ''
  for await (const piece of child.stdout as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString()
    if (cpuBefore === 0 && text.includes('started')) cpuBefore = cpuUs(subject.pids)
  }
  const cpu = cpuUs(subject.pids) - cpuBefore
  const last = JSON.parse(text.trim().split('\n').at(-1)!) as { events: number; failed: number }
  return { eventsPerS: last.events / durationS, cpuUs: cpu / last.events, failed: last.failed }
}
