import { ModelHub } from './model-hub/hub.tsx'

/** The models as a table, to compare their prices. */
export default function ModelHubTablePage() {
  return <ModelHub view="table" />
}
