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
export function measureCalls(
  subject: Subject,
  durationS: number,
  path = '/v1/chat/completions',
  body = requestBody,
): Promise<CallFigures> {
  return measureBy(64, subject, { durationS, path, body })
}

/** One small call after another, on one connection. Throws where one fails. */
export function measureAlone(subject: Subject, durationS: number): Promise<CallFigures> {
  return measureBy(1, subject, { durationS, path: '/v1/chat/completions', body: requestBody })
}

/** A slow gateway makes its clients wait; that is a figure, not a failure. */
const timeoutS = 30

async function measureBy(
  connections: number,
  subject: Subject,
  { durationS, path, body }: { durationS: number; path: string; body: string },
): Promise<CallFigures> {
  const cpuBefore = subject.pids.length > 0 ? cpuUs(subject.pids) : 0
  const child = startPinned(
    coreOfLoad,
    [
      'wrk',
      '-t1',
      `-c${connections}`,
      `--timeout=${timeoutS}s`,
      `-d${durationS}s`,
      '--latency',
      '-s',
      join(import.meta.dir, 'chat.lua'),
      `${subject.base}${path}`,
    ],
    { BENCH_BODY: body, BENCH_KEY: subject.key, BENCH_HEADERS: headerLines(subject) },
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

const headerLines = ({ headers = [] }: Subject): string => headers.join('\n')

function wrkMs(found: RegExpExecArray | null): number {
  if (!found) return Number.NaN
  return Number(found[1]) * (found[2] === 'us' ? 0.001 : found[2] === 's' ? 1000 : 1)
}

/** What many streams at 50 events a second each cost. */
export interface StreamFigures {
  eventsPerS: number
  cpuUs: number
  failed: number
}

/** So many streams at once. */
export async function measureStreams(
  subject: Subject,
  durationS: number,
  path = subject.streamPath,
  streams = 500,
): Promise<StreamFigures> {
  const client = [process.execPath, join(import.meta.dir, 'stream-client.ts')]
  const child = startPinned(
    coreOfLoad,
    [...client, subject.base, path, subject.key, String(streams), String(durationS)],
    {
      BENCH_HEADERS: headerLines(subject),
    },
  )
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
