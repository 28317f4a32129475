/** What each host says when it refuses or fails, by the names of the catalogue and of the vendors' adapters. */
import { compatibleRefusals } from './compatible-refusals.ts'
import { localRefusals } from './local-refusals.ts'
import { vendorRefusals } from './vendor-refusals.ts'
import type { Refusal } from './refusal-rows.ts'

/** Hosts without rows are judged by the words of all. */
export const hostRefusals: Readonly<Record<string, readonly Refusal[]>> = {
  ...vendorRefusals,
  ...compatibleRefusals,
  ...localRefusals,
}
