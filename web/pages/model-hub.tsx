import { ModelHub } from './model-hub/hub.tsx'

/** The models as cards. */
export default function ModelHubPage() {
  return <ModelHub view="cards" />
}
