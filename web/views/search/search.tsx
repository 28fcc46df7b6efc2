import { Empty } from "../../parts/empty.tsx";
import "./search.css";

export function Search() {
  return <Empty title="Search" />;
}
