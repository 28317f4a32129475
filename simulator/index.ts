/**
 * An upstream that speaks the APIs of all supported vendors, with faults on request and a log of what was really sent.
 * See docs/simulator.md.
 */
export { awsKeys } from './dialects/bedrock/authorization.ts'
export { faultKinds } from './faults/fault.ts'
export type { FaultKind, FaultName } from './faults/fault.ts'
export { runSimulator } from './run.ts'
export type { Matcher, MatcherLike, ScriptedReply, ScriptRequest } from './script/script.ts'
export { startSimulator } from './server/server.ts'
export type { Simulator, SimulatorOptions } from './server/server.ts'
export type { Finish, TruthEntry, TruthLog, TruthTotals } from './server/truth-log.ts'
