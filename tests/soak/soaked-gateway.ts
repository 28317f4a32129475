/** A gateway in front of the lying upstream, and what is left of both after a soak. */
import { startGateway, standardConfig } from '../e2e/harness.ts'
import { lyingUpstream } from './lying-upstream.ts'
import { soak } from './soak.ts'
import type { SoakOptions, Tally } from './soak.ts'
import { until } from '../support/until.ts'

/** After its last frame an upstream's connection is read for a second; what is hung on ends after its timeout. */
const settledMs = 6000

/** Leaked = busy towards the upstream when all is over, or open there without being idle here. */
export async function soakedGateway(
  { keys, ...options }: Pick<SoakOptions, 'requests' | 'clients' | 'seed'> & { readonly keys: number },
  progress?: (tally: Tally) => void,
): Promise<{ tally: Tally; leakedSockets: number }> {
  const upstream = await lyingUpstream()
  const config = standardConfig.replace(
    'router_settings: {',
    `  - model_name: up/*
    proxy_params: { model: "custom_openai/*", api_base: "${upstream.url}/v1" }
  - model_name: hanging/*
    proxy_params: { model: "custom_openai/*", api_base: "${upstream.url}/v1", timeout: 1, stream_timeout: 1 }
router_settings: { allowed_fails: 1000, cooldown_time: 0, `,
  )
  const gateway = await startGateway({ config })
  try {
    const port = Number(new URL(gateway.url).port)
    const made = await Promise.all(Array.from({ length: keys }, () => gateway.key()))
    const tally = await soak({ ...options, port, keys: made, ...(progress && { progress }) })
    const leaked = (): number => {
      const { busy, idle } = gateway.server.connections()
      return busy + Math.max(0, upstream.open() - idle)
    }
    await until(() => leaked() === 0, 'every connection to the upstream is idle or closed', settledMs).catch(() => {})
    return { tally, leakedSockets: leaked() }
  } finally {
    await gateway.stop()
    upstream.stop()
  }
}
