import { Empty } from "../../parts/empty.tsx";
import "./upkeep.css";

export function Upkeep() {
  return <Empty title="Upkeep" />;
}
