import { Empty } from "../../parts/empty.tsx";
import "./settings.css";

export function Settings() {
  return <Empty title="Settings" />;
}
